// The packages that scripts/install-mcp-clients put aside, which are not beside this file.

import { createRequire } from 'node:module';

const folder = process.env.SSHX_MCP_CLIENTS;
if (!folder) throw new Error('SSHX_MCP_CLIENTS does not name the folder that scripts/install-mcp-clients fills');

export const load = createRequire(`${folder}/package.json`);

// One session of an official MCP client with a server, as a scenario tells it; prints one JSON report.
//
// usage: node session.mjs <scenario.json
//
// Scenario: { mode, server: {command, args, env, cwd}, steps }. Modes: v1, v2, v2-auto, v2-pin. Each step has an `op` of
// `operations` below and gives one entry of the report's `steps`: what the client returned or threw, and nothing judged.
// Report: { negotiated, steps, errors: what came to onerror, server: the process id of the session's server }.

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

import { load } from './packages.mjs';

const MODERN = '2026-07-28';
const PATIENCE_MS = 60_000;
const IDENTITY = { name: 'sshx-tests', version: '1.0.0' };

// The two generations differ in where the options of a call stand.
function v1(server) {
  const { Client } = load('@modelcontextprotocol/sdk/client/index.js');
  const { StdioClientTransport } = load('@modelcontextprotocol/sdk/client/stdio.js');
  const client = new Client(IDENTITY);
  return {
    client,
    transport: new StdioClientTransport(server),
    call: (params, options) => client.callTool(params, undefined, options),
    negotiated: () => undefined,
  };
}

function v2(mode) {
  return (server) => {
    const { Client } = load('@modelcontextprotocol/client');
    const { StdioClientTransport } = load('@modelcontextprotocol/client/stdio');
    const client = new Client(IDENTITY, mode === undefined ? {} : { versionNegotiation: { mode } });
    return {
      client,
      transport: new StdioClientTransport(server),
      call: (params, options) => client.callTool(params, options),
      negotiated: () => client.getNegotiatedProtocolVersion(),
    };
  };
}

const MODES = { v1, v2: v2(), 'v2-auto': v2('auto'), 'v2-pin': v2({ pin: MODERN }) };

async function eventually(condition, what) {
  const deadline = Date.now() + PATIENCE_MS;
  while (!condition()) {
    if (Date.now() >= deadline) throw new Error(`waited in vain: ${what}`);
    await pause(20);
  }
}

function processOf(pidFile) {
  return existsSync(pidFile) ? readFileSync(pidFile, 'ascii').trim() : '';
}

// A zombie has ended; only its parent has not heard of it yet.
function isGone(pid) {
  try {
    return /^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'ascii'));
  } catch {
    return true;
  }
}

const thrown = (error) => ({ thrown: { name: error.name, code: error.code, message: error.message } });

const operations = {
  // {} -> { tools }
  async list({ client }) {
    return { tools: (await client.listTools()).tools };
  },

  // { read } -> { resources, contents }
  async resources({ client }, step) {
    const { resources } = await client.listResources();
    return { resources, contents: (await client.readResource({ uri: step.read })).contents };
  },

  // { tool, arguments } -> { result }
  async call({ call }, step) {
    return { result: await call({ name: step.tool, arguments: step.arguments }) };
  },

  // { tool, arguments: a list } -> { results }, all called before one has answered
  async together({ call }, step) {
    return { results: await Promise.all(step.arguments.map((each) => call({ name: step.tool, arguments: each }))) };
  },

  // { tool, arguments, timeout, gate } -> { result, progress, outlived }: a call that ends when the file `gate` is there,
  // which it is as soon as a progress notification came after `timeout` (ms) was over.
  async outlive({ call }, step) {
    const progress = [];
    const start = Date.now();
    let outlived = false;
    const onprogress = (note) => {
      progress.push(note);
      if (!outlived && Date.now() - start > step.timeout) {
        outlived = true;
        writeFileSync(step.gate, '');
      }
    };
    const options = { onprogress, timeout: step.timeout, resetTimeoutOnProgress: true };
    const result = await call({ name: step.tool, arguments: step.arguments }, options);
    return { result, progress, outlived };
  },

  // { tool, arguments, pid_file } -> { thrown, pid, gone }: a call that is aborted once its command wrote its process id
  async abort({ call }, step) {
    const controller = new AbortController();
    const pending = call({ name: step.tool, arguments: step.arguments }, { signal: controller.signal }).then(
      (result) => ({ result }),
      thrown,
    );
    await eventually(() => processOf(step.pid_file) !== '', `${step.pid_file} is written`);
    const pid = processOf(step.pid_file);
    controller.abort('the test says so');
    const outcome = await pending;
    await eventually(() => isGone(pid), `process ${pid} ends`);
    return { ...outcome, pid, gone: isGone(pid) };
  },
};

async function take(session, step) {
  try {
    return await operations[step.op](session, step);
  } catch (error) {
    return thrown(error);
  }
}

async function run(scenario) {
  const session = MODES[scenario.mode]({ ...scenario.server, stderr: 'inherit' });
  const errors = [];
  session.client.onerror = (error) => errors.push(String(error?.message ?? error));
  await session.client.connect(session.transport);
  const server = session.transport.pid;
  const steps = [];
  for (const step of scenario.steps) steps.push(await take(session, step));
  const negotiated = session.negotiated();
  await session.client.close();
  return { negotiated: negotiated ?? null, steps, errors, server };
}

process.stdout.write(JSON.stringify(await run(JSON.parse(await text(process.stdin)))) + '\n');

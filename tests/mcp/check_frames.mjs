// Judges the frames that tee.py wrote down: each against the schema that the official packages publish for its revision,
// method and direction, and all of them against the laws of a session. Prints { frames, methods, problems }.
//
// usage: node check_frames.mjs FILE...      (one file a server process)

import { readFileSync } from 'node:fs';

import { load } from './packages.mjs';

const legacy = load('@modelcontextprotocol/sdk/types.js');
const modern = load('@modelcontextprotocol/core');
const { z } = load('zod');

const VERSION = 'io.modelcontextprotocol/protocolVersion';
const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities';
const SERVER_INFO = 'io.modelcontextprotocol/serverInfo';

// What 2026-07-28 demands beyond the published schemas, which take the results of both eras.
const answered = (schema, fields = {}) =>
  schema.extend({ resultType: z.literal('complete'), _meta: z.looseObject({ [SERVER_INFO]: modern.ImplementationSchema }), ...fields });
const cached = { ttlMs: z.number().int().min(0), cacheScope: z.enum(['public', 'private']) };
const envelope = z.looseObject({
  params: z.looseObject({ _meta: z.looseObject({ [VERSION]: z.literal('2026-07-28'), [CAPABILITIES]: modern.ClientCapabilitiesSchema }) }),
});

const ERAS = {
  legacy: {
    request: legacy.JSONRPCRequestSchema,
    notification: legacy.JSONRPCNotificationSchema,
    response: legacy.JSONRPCResultResponseSchema,
    error: legacy.JSONRPCErrorResponseSchema,
    requests: {
      initialize: [legacy.InitializeRequestSchema, legacy.InitializeResultSchema],
      ping: [legacy.PingRequestSchema, legacy.EmptyResultSchema],
      'tools/list': [legacy.ListToolsRequestSchema, legacy.ListToolsResultSchema],
      'tools/call': [legacy.CallToolRequestSchema, legacy.CallToolResultSchema.extend({ content: z.array(legacy.ContentBlockSchema) })],
      'resources/list': [legacy.ListResourcesRequestSchema, legacy.ListResourcesResultSchema],
      'resources/read': [legacy.ReadResourceRequestSchema, legacy.ReadResourceResultSchema],
    },
    client: {
      'notifications/initialized': legacy.InitializedNotificationSchema,
      'notifications/cancelled': legacy.CancelledNotificationSchema,
    },
    server: { 'notifications/progress': legacy.ProgressNotificationSchema },
  },
  modern: {
    request: modern.JSONRPCRequestSchema.and(envelope),
    notification: modern.JSONRPCNotificationSchema,
    response: modern.JSONRPCResultResponseSchema,
    error: modern.JSONRPCErrorResponseSchema,
    requests: {
      'server/discover': [modern.DiscoverRequestSchema, answered(modern.DiscoverResultSchema, cached)],
      'tools/list': [modern.ListToolsRequestSchema, answered(modern.ListToolsResultSchema, cached)],
      'tools/call': [modern.CallToolRequestSchema, answered(modern.CallToolResultSchema, { content: z.array(modern.ContentBlockSchema) })],
      'resources/list': [modern.ListResourcesRequestSchema, answered(modern.ListResourcesResultSchema, cached)],
      'resources/read': [modern.ReadResourceRequestSchema, answered(modern.ReadResourceResultSchema, cached)],
    },
    client: { 'notifications/cancelled': modern.CancelledNotificationSchema },
    server: { 'notifications/progress': modern.ProgressNotificationSchema },
  },
};

class Session {
  constructor(file) {
    this.file = file;
    this.era = 'legacy';
    this.requests = new Map();
    this.tokens = new Map();
    this.methods = new Set();
    this.problems = [];
    this.frames = 0;
  }

  take({ from, text, is_utf8: isUtf8 }) {
    this.frames += 1;
    const report = (what) => this.problems.push({ file: this.file, from, what, frame: text.slice(0, 600) });
    if (!isUtf8) report('it is not UTF-8');
    if (!text.endsWith('\n') || text.endsWith('\r\n')) report('it does not end with a line feed alone');
    const message = parsed(text);
    if (message === undefined) return report('it is no JSON object');
    if ('method' in message && 'id' in message) return this.request(from, message, report);
    if ('method' in message) return this.notification(from, message, report);
    return this.response(from, message, report);
  }

  request(from, message, report) {
    if (from === 'server') return report('a server of tools asks nothing of its client');
    this.era = message.params?._meta?.[VERSION] === undefined ? 'legacy' : 'modern';
    const era = ERAS[this.era];
    const id = JSON.stringify(message.id);
    if (this.requests.has(id)) report('its id was used before');
    this.requests.set(id, { method: message.method, era, token: message.params?._meta?.progressToken });
    this.seen(message.method);
    this.match(era.request, message, 'a request', report);
    this.match(era.requests[message.method]?.[0], message, `a request ${message.method}`, report);
    const token = message.params?._meta?.progressToken;
    if (token !== undefined) this.tokens.set(token, { last: -Infinity, isOver: false });
  }

  notification(from, message, report) {
    const era = ERAS[this.era];
    this.seen(message.method);
    this.match(era.notification, message, 'a notification', report);
    this.match(era[from][message.method], message, `a ${from}'s ${message.method}`, report);
    if (from === 'client' && message.method === 'notifications/cancelled') {
      const request = this.requests.get(JSON.stringify(message.params.requestId));
      if (request) this.over(request, 'cancelled');
    }
    if (message.method === 'notifications/progress') this.progress(message.params, report);
  }

  progress(params, report) {
    const token = this.tokens.get(params.progressToken);
    if (!token) return report('nobody asked for this progress');
    if (token.isOver) report('progress of a request that is over');
    if (params.progress <= token.last) report('progress that does not increase');
    token.last = params.progress;
  }

  response(from, message, report) {
    if (from === 'client') return report('the server asked nothing');
    const request = this.requests.get(JSON.stringify(message.id));
    if (!request) return report('it answers no request');
    if (request.end) report(`its request was ${request.end} already`);
    this.over(request, 'answered');
    if ('error' in message) return this.match(request.era.error, message, 'an error', report);
    const schema = request.era.requests[request.method]?.[1];
    this.match(request.era.response, message, 'a response', report);
    return this.match(schema, message.result, `a result of ${request.method}`, report);
  }

  over(request, end) {
    request.end = end;
    if (this.tokens.has(request.token)) this.tokens.get(request.token).isOver = true;
  }

  seen(method) {
    this.methods.add(method);
  }

  match(schema, value, what, report) {
    if (!schema) return report(`no schema of this revision takes ${what}`);
    const { error } = schema.safeParse(value);
    if (error) report(`it is not ${what}: ${error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`).join('; ')}`);
  }
}

function parsed(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function entries(file) {
  return readFileSync(file, 'ascii').split('\n').filter(Boolean).map((line) => JSON.parse(line)).filter(({ from }) => from !== 'tee');
}

const sessions = process.argv.slice(2).map((file) => {
  const session = new Session(file);
  for (const entry of entries(file)) session.take(entry);
  return session;
});
const report = {
  frames: sessions.reduce((sum, session) => sum + session.frames, 0),
  methods: [...new Set(sessions.flatMap((session) => [...session.methods]))].sort(),
  problems: sessions.flatMap((session) => session.problems),
};
process.stdout.write(JSON.stringify(report) + '\n');

import type { ClientCapabilities, ClientMethod, ShownUpdate } from "../../session/client/client.ts";
import { isObject, type JsonObject, objectOf } from "./methods.ts";
import type { InitializeParams } from "./schema.gen.ts";

export type Version = 1 | 2;

export interface Implementation {
  readonly name: string;
  readonly version: string;
}

/** The part of the answer to `initialize` that describes the agent of new sessions. */
export interface AgentOffer {
  readonly authMethods: readonly JsonObject[];
  readonly hasProviders: boolean;
  /** It takes MCP servers that the client has itself. */
  readonly takesClientServers: boolean;
  /** Its `sessionCapabilities.systemPrompt`. */
  readonly systemPrompt: unknown;
  /** Its `_meta.authStatus`, which announces `_auth/status_update`. */
  readonly authStatus: unknown;
}

export type Hello = JsonObject & { readonly protocolVersion: Version };

/**
 * Translates between the messages of one protocol version and those that the rest of the program uses,
 * which have the shape of version 1. Each connection has its own codec.
 */
export interface Codec {
  readonly version: Version;
  /** Version 2: the client receives its own prompts, and learns of turns by `state_update`. */
  readonly isEchoed: boolean;
  /** Methods that we serve, but that this version does not have. */
  readonly lacks: ReadonlySet<string>;
  /** Whether `session/close` succeeds for a session that is closed already. */
  readonly closesAgain: boolean;
  /** The client's name for itself. */
  name(params: InitializeParams): string | undefined;
  capabilities(params: InitializeParams): ClientCapabilities;
  /** The answer to `initialize`. */
  hello(info: Implementation, offer: AgentOffer): Hello;
  /** A way to log in. */
  authMethod(method: JsonObject): JsonObject;
  /** The JSON text of an update; undefined where this version has no such update. */
  update(sessionId: string, shown: ShownUpdate): string | undefined;
  /** The parameters of a request to the client. */
  question(method: ClientMethod, params: object): object;
  /** The result of a request of the client. */
  answer(method: string, result: unknown): unknown;
  /** The error that a request of the client is answered with. */
  failure(error: unknown, params: unknown): unknown;
  /** The update, if any, that reports that a request to the client begins (1) or has ended (-1). */
  asking(sessionId: string, change: 1 | -1): string | undefined;
  /** The update, if any, that reports whether a turn is running. */
  state(sessionId: string, isRunning: boolean): string | undefined;
}

/** ACP initialization § Agent Capabilities. */
const CAPABILITIES = {
  loadSession: true,
  mcpCapabilities: { http: true, sse: true },
  promptCapabilities: { embeddedContext: true, image: true },
  sessionCapabilities: {
    list: {},
    delete: {},
    resume: {},
    close: {},
    fork: {},
    additionalDirectories: {},
    title: {},
    archive: {},
    status: {},
  },
  auth: { logout: {}, status: {} },
  // `/pause` and `/continue` are taken while a turn runs, by agents that can pause.
  _meta: { trunkline: { pause: true } },
} as const;

/** Version 1 passes messages through unchanged. */
export const V1: Codec = {
  version: 1,
  isEchoed: false,
  lacks: new Set(["auth/login", "auth/logout", "terminal/cancel"]),
  closesAgain: false,
  name: ({ clientInfo }) => clientInfo?.name,
  capabilities({ clientCapabilities = {} }) {
    const fs = objectOf(clientCapabilities.fs);
    const session = objectOf(clientCapabilities.session);
    const elicitation = objectOf(clientCapabilities.elicitation);
    const meta = objectOf(clientCapabilities._meta);
    const hasOutput = meta.terminal_output === true;
    return {
      readTextFile: fs.readTextFile === true,
      writeTextFile: fs.writeTextFile === true,
      terminal: clientCapabilities.terminal === true,
      forms: isObject(elicitation.form),
      pages: isObject(elicitation.url),
      notices: isObject(session.notices),
      compaction: isObject(session.compaction),
      plans: isObject(clientCapabilities.plan),
      subagents: isObject(clientCapabilities.subagents),
      booleans: isObject(objectOf(session.configOptions).boolean),
      terminals: meta.terminal_output_delta === true ? "delta" : hasOutput ? "output" : "text",
    };
  },
  hello: (info, { authMethods, hasProviders, takesClientServers, systemPrompt, authStatus }) => ({
    protocolVersion: 1,
    agentCapabilities: {
      ...CAPABILITIES,
      mcpCapabilities: {
        ...CAPABILITIES.mcpCapabilities,
        ...(takesClientServers ? { acp: true } : {}),
      },
      sessionCapabilities: {
        ...CAPABILITIES.sessionCapabilities,
        ...(systemPrompt === undefined ? {} : { systemPrompt }),
      },
      ...(hasProviders ? { providers: {} } : {}),
      _meta: { ...CAPABILITIES._meta, ...(authStatus === undefined ? {} : { authStatus }) },
    },
    agentInfo: info,
    authMethods,
    // An extension (ACP extensibility § Custom Capabilities): editors look for it before they send
    // `_session/steering`.
    _meta: { steering: { supported: true } },
  }),
  authMethod: (method) => method,
  update: (_, shown) => shown.text,
  question: (_, params) => params,
  answer: (_, result) => result,
  failure: (error) => error,
  asking: () => undefined,
  state: () => undefined,
};

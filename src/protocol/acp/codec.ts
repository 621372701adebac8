import type { ClientCapabilities, ClientMethod, ShownUpdate } from "../../session/client/client.ts";
import { isObject, type JsonObject, objectOf } from "./methods.ts";
import type { InitializeParams } from "./schema.gen.ts";

export type Version = 1 | 2;

export interface Implementation {
  readonly name: string;
  readonly version: string;
}

export type Hello = JsonObject & { readonly protocolVersion: Version };

/**
 * How one version of the protocol says what is said inside. Inside there is one shape, that of
 * version 1; each connection has a codec of its own.
 */
export interface Codec {
  readonly version: Version;
  /** Its client sees its own prompts like any other, and learns of turns by what it is shown. */
  readonly isEchoed: boolean;
  /** Methods that we serve and this version does not have. */
  readonly lacks: ReadonlySet<string>;
  /** Whether it is no fault to close a session that is closed. */
  readonly closesAgain: boolean;
  /** What the client calls itself. */
  name(params: InitializeParams): string | undefined;
  capabilities(params: InitializeParams): ClientCapabilities;
  /** The answer to `initialize`. */
  hello(info: Implementation): Hello;
  /** The JSON text of an update; undefined where this version has no words for it. */
  update(sessionId: string, shown: ShownUpdate): string | undefined;
  /** What the client is asked. */
  question(method: ClientMethod, params: object): object;
  /** What a request is answered with. */
  answer(method: string, result: unknown): unknown;
  failure(error: unknown, params: unknown): unknown;
  /** An update that tells of a question that begins (1) or is over (-1), where one does. */
  asking(sessionId: string, change: 1 | -1): string | undefined;
  /** An update that tells what a session does now, where one does. */
  state(sessionId: string, isRunning: boolean): string | undefined;
}

/** What we can do, in the message specification's words and in those that came since. */
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
  },
  auth: { logout: {} },
} as const;

/** Version 1 says what is said inside as it is. */
export const V1: Codec = {
  version: 1,
  isEchoed: false,
  lacks: new Set(),
  closesAgain: false,
  name: ({ clientInfo }) => clientInfo?.name,
  capabilities({ clientCapabilities = {} }) {
    const fs = objectOf(clientCapabilities.fs);
    const session = objectOf(clientCapabilities.session);
    const elicitation = objectOf(clientCapabilities.elicitation);
    return {
      readTextFile: fs.readTextFile === true,
      writeTextFile: fs.writeTextFile === true,
      terminal: clientCapabilities.terminal === true,
      forms: isObject(elicitation.form),
      pages: isObject(elicitation.url),
      notices: isObject(session.notices),
      compaction: isObject(session.compaction),
    };
  },
  hello: (info) => ({
    protocolVersion: 1,
    agentCapabilities: CAPABILITIES,
    agentInfo: info,
    authMethods: [],
    // Not in the protocol, but what editors look for before they send `_session/steering`.
    _meta: { steering: { supported: true } },
  }),
  update: (_, shown) => shown.text,
  question: (_, params) => params,
  answer: (_, result) => result,
  failure: (error) => error,
  asking: () => undefined,
  state: () => undefined,
};

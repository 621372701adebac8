import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { type LimitTable, limitsFor } from "../../base/limit/limits.ts";
import { VERSION } from "../../base/version.ts";
import { type Call, Peer } from "../../rpc/peer.ts";
import type { Method } from "../../rpc/method.ts";
import type { PeerOptions } from "../../rpc/peer-options.ts";
import { type Route, route, routes } from "../../rpc/route.ts";
import type { Channel } from "../../wire/channel.ts";
import { acpDialect } from "./dialect.ts";
import type { McpMessage } from "../../session/agent.ts";
import { CLIENT_METHODS, type JsonObject, METHODS } from "./methods.ts";
import type * as schema from "./schema.gen.ts";
import { toWire } from "./session-errors.ts";

/** Answers the requests of an agent and receives its updates. */
export interface AgentListener {
  /** A returned promise pauses reading: the agent's output is left unread until it settles. */
  update(params: schema.UpdateParams): Promise<void> | undefined;
  requestPermission(params: schema.PermissionParams): Promise<unknown>;
  readTextFile(params: schema.ReadFileParams): Promise<unknown>;
  writeTextFile(params: schema.WriteFileParams): Promise<unknown>;
  createTerminal(params: schema.CreateTerminalParams): Promise<unknown>;
  terminalOutput(params: schema.TerminalParams): Promise<unknown>;
  waitForExit(params: schema.TerminalParams): Promise<unknown>;
  killTerminal(params: schema.TerminalParams): Promise<unknown>;
  releaseTerminal(params: schema.TerminalParams): Promise<unknown>;
  elicit(params: schema.ElicitParams): Promise<unknown>;
  /**
   * A request to an MCP server of the client; `heard` gets the messages that the server sends before its
   * answer.
   */
  askServer(
    params: schema.McpMessageParams,
    signal: AbortSignal,
    heard: (message: McpMessage) => void,
  ): Promise<object>;
  /** Something that is no update, such as whether the person is logged in. */
  notified?(method: string, params: JsonObject): void;
}

const PROTOCOL_VERSION = 1;

/**
 * ACP initialization § Client Capabilities: everything that we can pass on, because an agent decides by this
 * once what it sends. Each client gets what it has announced itself (`update-forms.ts`). We offer files and
 * terminals even if the editor does not; a form or page that no client can show is answered with "cancel".
 * Not announced: `_meta.terminal_output`, another form of the same, and `_meta.jetbrains.air`, whose presence
 * makes agents send less to everybody else.
 */
export const CAPABILITIES = {
  fs: { readTextFile: true, writeTextFile: true },
  terminal: true,
  session: { notices: {}, compaction: {}, configOptions: { boolean: {} } },
  plan: {},
  subagents: {},
  elicitation: { form: {}, url: {} },
  auth: { terminal: true, _meta: { gateway: true } },
  _meta: { terminal_output_delta: true, "terminal-auth": true },
} as const;

/** The client side of ACP: a connection to an agent that is another program. */
export type AgentConnection = Awaited<ReturnType<typeof connectAgent>>;

export async function connectAgent(
  channel: Channel<string>,
  listener: AgentListener,
  limits?: LimitTable,
) {
  const peer = new Peer(channel, undefined, listening(listener, limits));
  await using opening = new AsyncDisposableStack();
  opening.defer(() => peer.close());
  const hello = {
    protocolVersion: PROTOCOL_VERSION,
    clientCapabilities: CAPABILITIES,
    clientInfo: { name: "trunkline", version: VERSION },
  };
  const { timeout } = limitsFor("initialize", limits);
  const agent = await peer.request(METHODS.initialize, hello, { timeout });
  if (agent.protocolVersion !== PROTOCOL_VERSION) {
    const speaks = `it speaks version ${agent.protocolVersion} of ACP, not ${PROTOCOL_VERSION}`;
    throw new TrunklineError("unavailable", `Cannot talk to the agent: ${speaks}.`);
  }
  opening.move();
  return {
    agent,
    capabilities: (agent.agentCapabilities ?? {}) as JsonObject,
    /** Resolves when the connection has ended. */
    ended: peer.ended,
    request<P, R>(
      method: Method<P, R>,
      params: P,
      options: { readonly signal?: AbortSignal } = {},
    ): Promise<R> {
      // The session limits the time of a prompt, since it knows whether there is progress. A person who
      // logs in may take long.
      const { timeout: longest } = PATIENT.has(method.name) ? {} : limitsFor(method.name, limits);
      return peer.request(method, params, { timeout: longest, ...options });
    },
    /** ACP prompt-turn § Cancellation: a notification; the prompt is then answered with "cancelled". */
    cancel(sessionId: string): void {
      peer.notify(METHODS.cancel, { sessionId });
    },
    [Symbol.asyncDispose]: () => peer.close(),
  };
}

const PATIENT: ReadonlySet<string> = new Set([METHODS.prompt.name, METHODS.authenticate.name]);
const PASSED_ON = [
  CLIENT_METHODS.authStatusUpdate,
  CLIENT_METHODS.earlyAuthStatusUpdate,
  CLIENT_METHODS.elicitationComplete,
];

function listening(
  listener: AgentListener,
  limits: LimitTable | undefined,
): PeerOptions<undefined> {
  /** Settles when the listener has handled the last update. */
  let taken: Promise<void> | undefined;
  type Handle<P> = (params: P, call: Call<undefined>) => Promise<unknown>;
  const serve = <P, R>(method: Method<P, R>, handle: Handle<P>): Route<undefined> => {
    const { maxSize } = limitsFor(method.name, limits);
    const guarded = async (params: P, call: Call<undefined>): Promise<unknown> => {
      try {
        return await handle(params, call);
      } catch (error) {
        throw toWire(error);
      }
    };
    return route(method as Method<P, unknown>, guarded, { maxSize });
  };
  return {
    dialect: acpDialect,
    receiver: (peer) => ({
      message: (text) => {
        const full = peer.message(text);
        const hold = taken?.catch(() => {});
        taken = undefined;
        if (hold === undefined) return full;
        return full === undefined ? hold : Promise.all([hold, full]).then(() => {});
      },
      fault: (fault) => peer.fault(fault),
      end: (error) => peer.end(error),
    }),
    routes: routes(
      route(CLIENT_METHODS.update, (params) => {
        taken = listener.update(params);
      }),
      serve(CLIENT_METHODS.requestPermission, (params) => listener.requestPermission(params)),
      serve(CLIENT_METHODS.readTextFile, (params) => listener.readTextFile(params)),
      serve(CLIENT_METHODS.writeTextFile, (params) => listener.writeTextFile(params)),
      serve(CLIENT_METHODS.createTerminal, (params) => listener.createTerminal(params)),
      serve(CLIENT_METHODS.terminalOutput, (params) => listener.terminalOutput(params)),
      serve(CLIENT_METHODS.waitForExit, (params) => listener.waitForExit(params)),
      serve(CLIENT_METHODS.killTerminal, (params) => listener.killTerminal(params)),
      serve(CLIENT_METHODS.releaseTerminal, (params) => listener.releaseTerminal(params)),
      serve(CLIENT_METHODS.elicit, (params) => listener.elicit(params)),
      serve(CLIENT_METHODS.mcpMessage, (params, { signal, peer }) =>
        listener.askServer(params, signal, (said) => {
          background(peer.notify(METHODS.mcpMessage, said), "Telling an agent");
        }),
      ),
      ...PASSED_ON.map((method) =>
        route(method, (params: JsonObject) => listener.notified?.(method.name, params)),
      ),
    ),
  };
}

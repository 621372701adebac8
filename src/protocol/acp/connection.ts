import { background } from "../../base/background.ts";
import { mayUseAll, OWNER, type Principal } from "../../base/principal.ts";
import { STANDARD } from "../../rpc/codes.ts";
import type { Method } from "../../rpc/method.ts";
import type { Peer } from "../../rpc/peer.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import type { McpMessage, ProviderChoice } from "../../session/agent.ts";
import type {
  AskOptions,
  ClientCapabilities,
  ClientMethod,
  SessionClient,
  ShownUpdate,
} from "../../session/client/client.ts";
import { isController } from "../../session/permission/permission.ts";
import { readSubagentId } from "../../session/subagent.ts";
import { ROOM, type Room, type Topic } from "../../wire/channel.ts";
import { type Codec, V1 } from "./codec.ts";
import { CLIENT_METHODS, clientMethod, isObject, METHODS, ours } from "./methods.ts";
import type { SendText, SessionLinks } from "./relay/session-links.ts";
import type { InitializeParams, OldSessionParams } from "./schema.gen.ts";
import { fromWire } from "./session-errors.ts";
import { type FormedUpdate, type UpdateForms, updateForms } from "./update-forms.ts";
import { V2Codec } from "./v2/codec.ts";

/** A random id as `crypto.randomUUID` makes them. */
const ORIGIN = /^[0-9a-f-]{36}$/;

/** The state of one session that a client is attached to. */
interface SessionView {
  readonly forms: UpdateForms;
  /** Number of the last event that it was shown. */
  seq: number;
  /** Counts the messages beyond one for each update; undefined during a replay. */
  counts: ((messages: number) => void) | undefined;
}

/** The state of one connected client. */
export class AcpConnection implements SessionClient {
  readonly principal: Principal;
  /** The agent for new sessions, where a request does not name one. */
  readonly agent: string | undefined;
  #name = "client";
  codec: Codec = V1;
  #isIntroduced = false;
  capabilities: ClientCapabilities = V1.capabilities({ protocolVersion: 1 });
  countsEvents = false;
  #origin: string | undefined;
  isGone = false;
  /** Ids of sessions that the client joined only to watch them. */
  readonly #observed = new Set<string>();
  readonly #opened = new Map<string, OldSessionParams>();
  readonly #views = new Map<string, SessionView>();
  /** Open requests to MCP servers of the client, and the listeners for their notifications. */
  readonly #serverCalls = new Map<string, (message: McpMessage) => void>();
  /** Its choices for the providers of agents, by their names. */
  readonly providers = new Map<string, readonly ProviderChoice[]>();
  /** Its `initialize`. */
  introduction: InitializeParams = { protocolVersion: 1 };
  /** Its sessions that other processes have open; undefined where those cannot be reached. */
  links: SessionLinks | undefined;
  #peer: Peer<AcpConnection> | undefined;
  #send: SendText = () => ROOM;

  constructor(principal: Principal = OWNER, agent?: string) {
    this.principal = principal;
    this.agent = agent;
  }

  get name(): string {
    return this.principal.name ?? this.#name;
  }

  /** The only owner whose sessions the client may use; undefined where it may use all. */
  get onlyOwner(): string | undefined {
    return mayUseAll(this.principal) ? undefined : this.principal.id;
  }

  mayUse(owner = ""): boolean {
    const { onlyOwner } = this;
    return onlyOwner === undefined || onlyOwner === owner;
  }

  /** Sets how messages reach the client, and how it reaches sessions of other processes. */
  open(peer: Peer<AcpConnection>, send: SendText, links?: SessionLinks): void {
    this.#peer = peer;
    this.#send = send;
    this.links = links;
  }

  get origin(): string {
    // Made with the first prompt: loading the code for it would delay each start.
    this.#origin ??= crypto.randomUUID();
    return this.#origin;
  }

  /** The connection has ended: further updates are dropped. */
  close(): void {
    this.isGone = true;
    this.#send = () => ROOM;
    for (const sessionId of this.#views.keys()) this.detached(sessionId);
  }

  detached(sessionId: string): void {
    this.#views.get(sessionId)?.forms[Symbol.dispose]();
    this.#views.delete(sessionId);
  }

  readonly observes = (sessionId: string): boolean => this.#observed.has(sessionId);

  /** The role that a client asks for when it opens a session. It controls the session unless it says so. */
  takeRole(sessionId: string, meta: unknown): void {
    if (ours(meta).role === "observer") this.#observed.add(sessionId);
    else this.#observed.delete(sessionId);
  }

  roleIn(sessionId: string): "controller" | "observer" {
    return isController(this, sessionId) ? "controller" : "observer";
  }

  get isEchoed(): boolean {
    return this.codec.isEchoed;
  }

  /**
   * ACP initialization § Version Negotiation: the agent answers with the client's version where it
   * supports it, else with the latest that it supports.
   */
  introduce(params: InitializeParams): Codec {
    const { protocolVersion, info, clientCapabilities, _meta } = params;
    const codec = protocolVersion >= 2 && isObject(info) ? new V2Codec() : V1;
    if (this.#isIntroduced && codec.version !== this.codec.version) {
      const why = `version ${this.codec.version} was agreed on already`;
      throw RpcError.of(STANDARD.invalidRequest, why);
    }
    // A repeated `initialize` keeps the codec, and with it the state that the client was told.
    if (codec.version !== this.codec.version) this.codec = codec;
    this.#isIntroduced = true;
    this.introduction = params;
    this.#name = codec.name(params) ?? "client";
    this.capabilities = codec.capabilities(params);
    const { origin } = ours(_meta);
    // Sent by the process that serves the client and forwards its messages.
    if (typeof origin === "string" && ORIGIN.test(origin)) this.#origin = origin;
    this.countEvents(_meta);
    this.countEvents(clientCapabilities?._meta);
    return this.codec;
  }

  /** Clients that ask for it get the number of each event, after which they can resume. */
  countEvents(meta: unknown): void {
    if (ours(meta).sequence === true) this.countsEvents = true;
  }

  show(sessionId: string, shown: ShownUpdate, counts?: SessionView["counts"]): Room | undefined {
    const view = this.#views.getOrInsertComputed(sessionId, () => this.#view(sessionId));
    view.seq = shown.seq;
    view.counts = counts;
    // One message was counted for the update.
    return this.#showAll(view, view.forms.of(sessionId, shown), 1);
  }

  #view(sessionId: string): SessionView {
    const forms = updateForms(this.capabilities, (updates) => {
      const view = this.#views.get(sessionId);
      if (view !== undefined) background(this.#showAll(view, updates, 0), "Telling a client");
    });
    return { forms, seq: 0, counts: undefined };
  }

  #showAll(
    { seq, counts }: SessionView,
    updates: readonly FormedUpdate[],
    counted: number,
  ): Room | undefined {
    let room: Room | undefined;
    let messages = 0;
    for (const { sessionId, ...formed } of updates) {
      const text = this.codec.update(sessionId, { ...formed, seq });
      if (text === undefined) continue;
      room = this.#tell(sessionId, text, seq) ?? room;
      messages++;
    }
    counts?.(Math.max(0, messages - counted));
    return room;
  }

  /** Reports whether a turn is running, if the client's version has such an update. */
  showState(sessionId: string, isRunning: boolean): void {
    this.#tellState(sessionId, this.codec.state(sessionId, isRunning));
  }

  #tellState(sessionId: string, text: string | undefined): void {
    if (text === undefined) return;
    background(this.#tell(sessionId, text), "Telling a client");
    this.#views.get(sessionId)?.counts?.(1);
  }

  #tell(sessionId: string, text: string, seq?: number): Room | undefined {
    const counts = this.countsEvents && seq !== undefined;
    const meta = counts ? `,"_meta":{"trunkline":{"seq":${seq}}}` : "";
    const head = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":`;
    const message = `${head}${JSON.stringify(sessionId)},"update":${text}${meta}}}`;
    const room = this.#send(message, readSubagentId(sessionId).session);
    return room === ROOM ? undefined : room;
  }

  /** Remembers how the client opened a session, in case another process takes it. */
  opened(params: OldSessionParams): void {
    this.#opened.set(params.sessionId, params);
    this.detached(params.sessionId);
  }

  /** Enters a session that has moved to a gateway, as it was opened here. */
  async follow(sessionId: string, holder: string, after: number): Promise<void> {
    const params = this.#opened.get(sessionId);
    if (params === undefined) return;
    const _meta = { ...params._meta, trunkline: { ...ours(params._meta), after } };
    await this.links?.request(holder, METHODS.resumeSession.name, { ...params, _meta });
  }

  taken(sessionId: string, after: number): void {
    const params = this.#opened.get(sessionId);
    if (params === undefined || this.isGone) return;
    this.links?.rejoin(params, after);
  }

  notify(method: string, params: object): void {
    background(this.#peer?.notify({ name: method }, params), "Telling a client");
  }

  /** Sends the client a request that belongs to no session. */
  async request(
    method: Method<object, unknown>,
    params: object,
    signal: AbortSignal,
  ): Promise<unknown> {
    return await this.#peer?.request(method, params, { signal });
  }

  /** Asks an MCP server that the client has itself. */
  async askServer(
    message: McpMessage,
    signal: AbortSignal,
    heard: (message: McpMessage) => void,
  ): Promise<object> {
    const key = serverCall(message);
    if (this.#peer === undefined) throw new Error("The connection is not open");
    this.#serverCalls.set(key, heard);
    using ends = new DisposableStack();
    ends.defer(() => this.#serverCalls.delete(key));
    return await this.#peer.request(CLIENT_METHODS.mcpMessage, message, { signal });
  }

  /** A notification of such a server, about a request that it has not answered yet. */
  serverSaid(message: McpMessage): void {
    this.#serverCalls.get(serverCall(message))?.(message);
  }

  ask(method: ClientMethod, params: object, options: AskOptions): Promise<unknown> {
    const { signal, timeout } = options;
    if (this.#peer === undefined) return Promise.reject(new Error("The connection is not open"));
    const { sessionId } = params as { readonly sessionId: string };
    this.#asking(sessionId, 1);
    const sent = { topic: topicOf(params), signal, timeout };
    return this.#peer
      .request(clientMethod(method), this.codec.question(method, params), sent)
      .catch((error: unknown) => {
        throw fromWire(error);
      })
      .finally(() => this.#asking(sessionId, -1));
  }

  #asking(sessionId: string, change: 1 | -1): void {
    this.#tellState(sessionId, this.codec.asking(sessionId, change));
  }
}

function serverCall({ serverId, requestId }: McpMessage): string {
  return JSON.stringify([serverId, requestId]);
}

const TOPIC = "session ";

/** The session that a message belongs to, for channels with a stream for each session. */
function topicOf(params: object): Topic {
  const { sessionId } = params as { sessionId?: unknown };
  return { request: `${TOPIC}${String(sessionId)}`, isAnswer: false };
}

/** The session of a topic. Ids of requests, which are JSON texts, never begin like it. */
export function sessionOfTopic({ request }: Topic): string | undefined {
  return request.startsWith(TOPIC) ? request.slice(TOPIC.length) : undefined;
}

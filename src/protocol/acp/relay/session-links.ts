import { setTimeout as delay } from "node:timers/promises";
import { background } from "../../../base/background.ts";
import { TrunklineError } from "../../../base/errors.ts";
import type { Principal } from "../../../base/principal.ts";
import type { Span } from "../../../base/trace.ts";
import { holdId, isId } from "../../../rpc/message/message.ts";
import { errorText, toRpcError } from "../../../rpc/rpc-error.ts";
import { holderOf, isSilent, readGatewayHolder } from "../../../session/session-error.ts";
import { readSubagentId } from "../../../session/subagent.ts";
import type { EndOfTurn } from "../../../session/turn/end-of-prompt.ts";
import { type Channel, ROOM, type Room, type Sink } from "../../../wire/channel.ts";
import { acpDialect } from "../dialect.ts";
import { METHODS, objectOf, ours } from "../methods.ts";
import type { OldSessionParams } from "../schema.gen.ts";
import { interruptedTurn, toWire } from "../session-errors.ts";
import {
  answerTo,
  type ForwardedRequest,
  isWaiting,
  type JoinedSession,
  newJoined,
  numberOf,
  parsed,
  sentAfter,
  newSessionLink,
  type SessionLink,
  type SessionParams,
  withdrawal,
  withTrace,
} from "./session-link.ts";

interface ReopenOptions {
  readonly here: Pick<SessionsHere, "takeOver" | "depose">;
  /** Milliseconds within which it must be open again somewhere. */
  readonly within: number;
  /** Whether the client waits for it. */
  readonly isAwaited: () => boolean;
  /** The client has left. */
  readonly isClosed: () => boolean;
  readonly linkTo: (holder: string) => Promise<SessionLink>;
}

const RETRY = 50;

/**
 * Opens a session again after its holder has ended or stopped answering, here or in another process that was
 * faster. Resolves to whether it is open here.
 */
async function reopen(
  sessionId: string,
  joined: JoinedSession,
  options: ReopenOptions,
): Promise<boolean> {
  const { within, isAwaited, isClosed } = options;
  let until = performance.now() + within;
  const silent = new Set<string>();
  for (;;) {
    try {
      return await reopenOnce(sessionId, joined, options);
    } catch (error) {
      const { silent: holder } = joined;
      if (holder !== undefined && !silent.has(holder)) {
        silent.add(holder);
        until = performance.now() + within;
      }
      const isEarly = error instanceof TrunklineError && error.code === "unavailable";
      // The agent's process may have ended too, which was not noticed yet.
      if ((!isEarly && isAwaited()) || isClosed() || performance.now() > until) throw error;
    }
    await delay(RETRY);
  }
}

async function reopenOnce(
  sessionId: string,
  joined: JoinedSession,
  options: ReopenOptions,
): Promise<boolean> {
  const { here, linkTo } = options;
  const { last } = joined;
  const params = { ...joined.params, sessionId };
  try {
    await here.takeOver(params, last);
    return true;
  } catch (error) {
    const holder = holderOf(error);
    if (holder === undefined) throw error;
    if (holder === joined.silent) {
      joined.silent = undefined;
      await here.depose(sessionId, holder);
      return await reopenOnce(sessionId, joined, options);
    }
    // Another process was faster, or the end of the previous holder was not noticed yet.
    const _meta = { ...params._meta, trunkline: { ...ours(params._meta), after: last } };
    try {
      const link = await linkTo(holder);
      joined.link = link;
      // If this holder ends too, before it has answered, we only try again.
      joined.isIn = false;
      await link.request(METHODS.resumeSession.name, { ...params, _meta }, () => {
        joined.isIn = true;
      });
      return false;
    } catch (lost) {
      if (isSilent(lost)) joined.silent = holder;
      throw lost;
    }
  }
}

/** Sends a message that is serialized already, without the peer. */
export type SendText = (text: string, sessionId: string) => Room;

/** Connects to the process with that id, which serves ACP to the principal. */
export type HolderDialer = (holder: string, principal: Principal) => Promise<Channel<string>>;

/** A prompt that is forwarded to the process that has its session open. Returns its span, if it is traced. */
export type RelayObserver = (
  sessionId: string,
  meta: Readonly<Record<string, unknown>>,
) => Span | undefined;

/** A client whose sessions are open in other processes. */
export interface LinkedClient {
  readonly principal: Principal;
  /** Its `initialize`, which is repeated to holders. */
  readonly introduction: object;
  /** See SessionClient. */
  readonly origin: string;
  /** Whether it wants the number of each event. */
  readonly countsEvents: boolean;
}

/** What this process can do with sessions for the client. */
export interface SessionsHere {
  /** Opens a session here and shows the client the later events. Throws if another process has it open. */
  takeOver(params: OldSessionParams, after: number): Promise<void>;
  /** The end of the turn of a prompt that was sent after an event; undefined if the turn never began. */
  endOf(sessionId: string, prompt: unknown, after: number): Promise<EndOfTurn | undefined>;
  /** Takes a session from a process that does not answer. Throws if that cannot be done. */
  depose(sessionId: string, holder: string): Promise<void>;
}

interface SessionLinksOptions extends SessionsHere {
  readonly reach: HolderDialer;
  /** Whether a process is known to be stopped, as by Ctrl-Z. */
  readonly isStopped?: ((holder: string) => Promise<boolean>) | undefined;
  /** Milliseconds between two looks whether a holder still answers. */
  readonly beat?: number | undefined;
  /** Milliseconds within which a session whose holder has ended must be open again somewhere. */
  readonly takeOverWithin?: number | undefined;
  /** Traces the prompts that are forwarded. */
  readonly relayed?: RelayObserver | undefined;
  readonly client: LinkedClient;
  readonly send: SendText;
}

/** What a client was shown for a request that failed and is repeated. */
export interface Progress {
  /** Number of the last event; 0 if there was none. */
  shown: number;
}

const TAKE_OVER_WITHIN = 10_000;
/** Characters of messages that are buffered for sessions without a link before the client has to wait. */
const MOST_KEPT = 1024 * 1024;

/** Methods after which a client is no longer in a session. */
const LEAVING: ReadonlySet<string> = new Set([
  METHODS.closeSession.name,
  METHODS.deleteSession.name,
]);

/**
 * The sessions of one client that other processes have open. Each is reached through the process that
 * holds it. When that process ends, the session is opened here, or in the process that was faster.
 */
export class SessionLinks {
  readonly #options: SessionLinksOptions;
  readonly #takeOverWithin: number;
  readonly #client: LinkedClient;
  readonly #send: SendText;
  readonly #links = new Map<string, Promise<SessionLink>>();
  /** Links whose holder has not answered yet. */
  readonly #opening = new Set<SessionLink>();
  readonly #joined = new Map<string, JoinedSession>();
  /** The client's channel. */
  #channel: Channel<string> | undefined;
  /** The peer that serves the client here. */
  #own: Sink<string> | undefined;
  /** Characters of the messages that wait for a link. */
  #kept = 0;
  #isClosed = false;

  constructor(options: SessionLinksOptions) {
    this.#options = options;
    this.#takeOverWithin = options.takeOverWithin ?? TAKE_OVER_WITHIN;
    this.#client = options.client;
    this.#send = options.send;
  }

  /** The client's channel for its peer here, without the messages that are for other processes. */
  through(channel: Channel<string>): Channel<string> {
    this.#channel = channel;
    return {
      receive: (sink) => {
        this.#own = sink;
        channel.receive({
          message: (text) => this.take(text),
          fault: (fault) => sink.fault(fault),
          end: (error) => sink.end(error),
          ...(sink.lost === undefined ? {} : { lost: (id, error) => sink.lost?.(id, error) }),
        });
      },
      send: (text, topic) => channel.send(text, topic),
      abort: (reason) => channel.abort(reason),
      [Symbol.asyncDispose]: () => channel[Symbol.asyncDispose](),
    };
  }

  /**
   * Forwards a request about a session, or for a new one, to another process, and later all messages of
   * the client about that session. Rejects with "unavailable" if the process cannot be reached.
   */
  async request(
    holder: string,
    method: string,
    params: SessionParams,
    progress: Progress = { shown: 0 },
  ): Promise<unknown> {
    const link = await this.#linkTo(holder);
    // A fork is about a new session: how this client uses the other one stays as it is.
    let sessionId = method === METHODS.forkSession.name ? undefined : params.sessionId;
    const known = this.#joined.get(sessionId ?? "");
    // The request of a client that is in the session already changes nothing of that.
    const isIn = known?.link === link && known.isIn;
    const joined = isIn ? known : newJoined(params, progress.shown, link);
    if (sessionId !== undefined) this.#joined.set(sessionId, joined);
    try {
      return await link.request(method, params, (answer) => {
        if (isIn && !LEAVING.has(method)) return;
        // The answer contains the id of a new or forked session.
        const { sessionId: named = sessionId } = objectOf(answer);
        if (typeof named !== "string") return;
        sessionId = named;
        this.#enter(named, joined, answer);
        if (LEAVING.has(method)) this.#leave(named);
      });
    } catch (error) {
      if (isIn) throw error;
      progress.shown = joined.last;
      if (sessionId !== undefined) this.#leave(sessionId);
      this.#forwardKept(joined);
      throw error;
    }
  }

  #enter(sessionId: string, joined: JoinedSession, answer: unknown): void {
    const { seq } = ours(objectOf(answer)._meta);
    joined.params = { ...joined.params, sessionId };
    joined.isIn = true;
    if (typeof seq === "number") joined.last = Math.max(joined.last, seq);
    this.#joined.set(sessionId, joined);
    // ACP message specification § Streaming Message Ordering: updates after the answer must reach the client
    // after it. The peer sends the answer in this turn of the event loop, so updates wait for the next.
    joined.shows = [];
    setImmediate(() => {
      const { shows = [] } = joined;
      joined.shows = undefined;
      for (const text of shows) background(this.#send(text, sessionId), "Showing an update");
    });
  }

  /** Whether the client is in a session that is open elsewhere. */
  has(sessionId: string): boolean {
    return this.#joined.get(sessionId)?.isIn === true;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    const links = [...this.#links.values()];
    this.#links.clear();
    this.#joined.clear();
    await Promise.all(Array.from(this.#opening, (link) => link.close()));
    await Promise.all(links.map(async (link) => (await link.catch(() => undefined))?.close()));
  }

  /** Takes a message of the client, for a holder or for the peer here. */
  take(text: string): void | Room {
    return (this.#joined.size === 0 ? undefined : this.#pass(text)) ?? this.#own?.message(text);
  }

  #pass(text: string): Room | undefined {
    const message = parsed(text);
    const { id, method, params } = message;
    if (typeof method !== "string") {
      return typeof id === "string" ? this.#answer(id, text) : undefined;
    }
    const { sessionId: named, requestId } = objectOf(params);
    // It names no session. Links that have not asked that server ignore it.
    if (method === METHODS.mcpMessage.name) {
      const links = new Set([...this.#joined.values()].flatMap(({ link }) => link ?? []));
      for (const link of links) background(link.pass(text), "Forwarding a message");
      return undefined;
    }
    if (method === acpDialect.cancel.method) {
      return isId(requestId) ? this.#cancel(`${holdId(requestId, text)}`, text) : undefined;
    }
    // A fork is a new session, which is opened here.
    if (typeof named !== "string" || method === METHODS.forkSession.name) return undefined;
    const { session: sessionId } = readSubagentId(named);
    const joined = this.#joined.get(sessionId);
    if (joined === undefined) return undefined;
    const { link } = joined;
    // The next holder refuses what comes before it has opened the session.
    const isReopening = joined.recovery !== undefined && !joined.isIn;
    if (link === undefined || isReopening) {
      if (joined.recovery === undefined && joined.isIn) this.#beginRecovery(sessionId, joined);
      return this.#keep(joined, text);
    }
    if (!isId(id)) return link.pass(text);
    const idText = String(holdId(id, text));
    const span = method === METHODS.prompt.name ? this.#trace(sessionId, params) : undefined;
    const told = span === undefined ? text : withTrace(message, span);
    const { sentAfter: after = joined.last } = ours(objectOf(params)._meta);
    const asked = { method, sessionId, text: told, after: Number(after), span };
    return link.pass(told, { idText, asked });
  }

  /** Keeps a message until its session is open again. A client that sends much has to wait for that. */
  #keep(joined: JoinedSession, text: string): Room {
    joined.waiting.push(text);
    this.#kept += text.length;
    return this.#kept > MOST_KEPT ? (joined.recovery ?? ROOM) : ROOM;
  }

  #takeKept(joined: JoinedSession): string[] {
    const texts = joined.waiting.splice(0);
    for (const { length } of texts) this.#kept -= length;
    return texts;
  }

  #forwardKept(joined: JoinedSession): void {
    joined.lost = undefined;
    for (const text of this.#takeKept(joined)) background(this.take(text), "Forwarding a message");
  }

  #trace(sessionId: string, params: unknown): Span | undefined {
    return this.#options.relayed?.(sessionId, objectOf(objectOf(params)._meta));
  }

  #answer(id: string, text: string): Room | undefined {
    for (const { link } of this.#joined.values()) {
      const room = link?.answer(id, text);
      if (room !== undefined) return room;
    }
    return undefined;
  }

  #cancel(idText: string, text: string): Room | undefined {
    for (const joined of this.#joined.values()) {
      if (joined.link?.isAsked(idText) === true) return joined.link.pass(text);
      // It follows the request that it cancels.
      if (isWaiting(joined, idText)) return this.#keep(joined, text);
    }
    return undefined;
  }

  #linkTo(holder: string): Promise<SessionLink> {
    const known = this.#links.get(holder);
    if (known !== undefined) return known;
    const link = this.#open(holder);
    this.#links.set(holder, link);
    link.catch(() => this.#links.delete(holder));
    return link;
  }

  async #open(holder: string): Promise<SessionLink> {
    const { principal, introduction, origin } = this.#client;
    const { reach, isStopped, beat } = this.#options;
    const channel = await reach(holder, principal);
    const link: SessionLink = newSessionLink(channel, {
      beat,
      isStopped: isStopped && (() => isStopped(holder)),
      told: (text, sessionId) => this.#show(text, sessionId),
      answered: (idText, asked, text) => this.#answered(idText, asked, text),
      lost: () => this.#lost(holder, link),
    });
    const { _meta, clientCapabilities } = introduction as Readonly<Record<string, object | null>>;
    // Files and commands of this machine are not for another.
    const here = { clientCapabilities: { ...clientCapabilities, fs: {}, terminal: false } };
    const own = readGatewayHolder(holder) === undefined ? {} : here;
    const counting = { ...ours(_meta), sequence: true, origin };
    this.#opening.add(link);
    using ends = new DisposableStack();
    ends.defer(() => this.#opening.delete(link));
    if (this.#isClosed) await link.close();
    await link.request(METHODS.initialize.name, {
      ...introduction,
      ...own,
      _meta: { ..._meta, trunkline: counting },
    });
    return link;
  }

  #show(text: string, sessionId: string): void | Room {
    const joined = this.#joined.get(sessionId);
    const number = numberOf(text);
    if (joined !== undefined) joined.last = Math.max(joined.last, number?.seq ?? 0);
    const shown = this.#client.countsEvents ? text : (number?.bare ?? text);
    if (joined?.shows === undefined) return this.#send(shown, sessionId);
    joined.shows.push(shown);
    return undefined;
  }

  #answered(idText: string, asked: ForwardedRequest, text: string): void | Room {
    const { method, sessionId, span } = asked;
    const { error } = parsed(text);
    span?.end(error === undefined ? {} : { error: "error" });
    const joined = this.#joined.get(sessionId);
    if (joined?.link !== undefined && objectOf(objectOf(error).data).movedTo !== undefined) {
      // It may be here again.
      joined.link = undefined;
      this.#beginRecovery(sessionId, joined);
      return this.#keep(joined, asked.text);
    }
    if (LEAVING.has(method) && error === undefined) this.#leave(sessionId);
    return this.#channel?.send(text, answerTo(idText, objectOf(error).code));
  }

  #leave(sessionId: string): void {
    const link = this.#joined.get(sessionId)?.link;
    this.#joined.delete(sessionId);
    if (link === undefined || this.#joined.values().some((joined) => joined.link === link)) return;
    for (const [holder, opened] of this.#links) {
      background(
        opened.then((one) => {
          if (one !== link) return undefined;
          this.#links.delete(holder);
          return one.close();
        }),
        "Leaving the process that has a session open",
      );
    }
  }

  #lost(holder: string, link: SessionLink): void {
    this.#links.delete(holder);
    if (this.#isClosed) return;
    for (const id of link.openQuestions) this.#send(withdrawal(id), "");
    for (const [sessionId, joined] of this.#joined) {
      if (joined.link !== link) continue;
      joined.link = undefined;
      joined.lost = link;
      if (link.isSilent) joined.silent = holder;
      // A client that was not accepted yet gets an error for its request, and retries.
      if (!joined.isIn) continue;
      this.#beginRecovery(sessionId, joined, link);
    }
  }

  #beginRecovery(sessionId: string, joined: JoinedSession, link?: SessionLink): void {
    background((joined.recovery = this.#recover(sessionId, joined, link)), "Taking a session over");
  }

  /** Continues a client's session that was open here and that another process has taken. */
  rejoin(params: SessionParams & { readonly sessionId: string }, last: number): void {
    if (this.#isClosed || this.#joined.has(params.sessionId)) return;
    const joined = { ...newJoined(params, last), isIn: true };
    this.#joined.set(params.sessionId, joined);
    this.#beginRecovery(params.sessionId, joined);
  }

  /** Opens the session again after its holder has ended, here or in another process. */
  async #recover(sessionId: string, joined: JoinedSession, link?: SessionLink): Promise<void> {
    const asked = link?.askedAbout(sessionId) ?? [];
    try {
      const isOpenHere = await reopen(sessionId, joined, {
        ...{ here: this.#options, within: this.#takeOverWithin },
        isAwaited: () => asked.length + joined.waiting.length > 0,
        isClosed: () => this.#isClosed,
        linkTo: (holder) => this.#linkTo(holder),
      });
      if (isOpenHere) this.#joined.delete(sessionId);
    } catch (error) {
      // The client stays in the session: its next message is another attempt.
      joined.link = joined.lost = joined.recovery = undefined;
      joined.isIn = true;
      for (const [idText] of asked) this.#fail(idText, error);
      for (const text of this.#takeKept(joined)) {
        const { id } = parsed(text);
        if (isId(id)) this.#fail(String(holdId(id, text)), error);
      }
      return;
    }
    for (const [idText, one] of asked) {
      try {
        await this.#askAgain(idText, one);
      } catch (error) {
        this.#fail(idText, error);
      }
    }
    this.#forwardKept(joined);
  }

  // A prompt does not run twice: here it is answered with the end of its turn, and another process, which
  // may be the same as before with the turn still running, is told that it may know it.
  async #askAgain(
    idText: string,
    { method, sessionId, text, after, span }: ForwardedRequest,
  ): Promise<void> {
    span?.end({ error: "holder_ended" });
    const isPrompt = method === METHODS.prompt.name;
    if (isPrompt && !this.#joined.has(sessionId)) {
      const { prompt } = objectOf(parsed(text).params);
      const end = await this.#options.endOf(sessionId, prompt, after);
      if (end !== undefined) return this.#endPrompt(idText, end);
    }
    background(this.take(isPrompt ? sentAfter(text, after) : text), "Sending a request again");
  }

  #endPrompt(idText: string, end: EndOfTurn): void {
    if (end.stopReason === "interrupted") return this.#fail(idText, interruptedTurn());
    const answer = `{"jsonrpc":"2.0","id":${idText},"result":${JSON.stringify(end)}}`;
    background(this.#channel?.send(answer, answerTo(idText)), "Answering a prompt");
  }

  #fail(idText: string, failure: unknown): void {
    const error = toRpcError(toWire(failure), () => {});
    const answer = `{"jsonrpc":"2.0","id":${idText},"error":${errorText(error)}}`;
    background(this.#channel?.send(answer, answerTo(idText, error.code)), "Answering a request");
  }
}

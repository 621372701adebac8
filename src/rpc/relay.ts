import { type Channel, type FrameFault, ROOM, type Sink } from "../wire/channel.ts";
import { STANDARD } from "./codes.ts";
import { readEnvelope } from "./envelope.ts";
import { idText, recoverMessage } from "./id.ts";
import { parseMessage } from "./parse-message.ts";
import { DEFAULT_PEER_LIMITS, type PeerLimits } from "./peer-options.ts";
import { errorText, RpcError } from "./rpc-error.ts";

export interface RelayOptions {
  /** Notifications that name a request in `params.requestId`. */
  readonly cancelMethods: readonly string[];
  readonly limits?: Partial<PeerLimits>;
}

/**
 * Joins two channels. A request gets an id of the relay's own on its way out and its first id back
 * on the answer; everything else in a message passes byte for byte, so that fields nobody here knows
 * and numbers that JavaScript cannot hold arrive as they were sent.
 */
export function relay(
  left: Channel<string>,
  right: Channel<string>,
  options: RelayOptions,
): Promise<void> {
  const forth = new Direction(left, right, options);
  const back = new Direction(right, left, options);
  forth.answers = back;
  back.answers = forth;
  left.receive(forth);
  right.receive(back);
  return Promise.all([forth.over.promise, back.over.promise]).then(() => {});
}

/** One way through the relay: takes from `source`, passes to `target`. */
class Direction implements Sink<string> {
  readonly over = Promise.withResolvers<void>();
  /** The way back, on which answers to this way's requests come. */
  declare answers: Direction;
  readonly #source: Channel<string>;
  readonly #target: Channel<string>;
  readonly #limits: PeerLimits;
  readonly #cancelMethods: ReadonlySet<string>;
  /** Requests that went this way: our id → the sender's, and back for cancelling. */
  readonly #pending = new Map<number, string>();
  readonly #ours = new Map<string, number>();
  #lastId = 0;

  constructor(source: Channel<string>, target: Channel<string>, options: RelayOptions) {
    this.#source = source;
    this.#target = target;
    this.#limits = { ...DEFAULT_PEER_LIMITS, ...options.limits };
    this.#cancelMethods = new Set(options.cancelMethods);
  }

  message(text: string): void | Promise<void> {
    const message = parseMessage(text, this.#limits);
    if (message instanceof RpcError) return this.#refuse("null", message);
    if (typeof message !== "object" || message === null || Array.isArray(message)) {
      return this.#refuse(
        "null",
        RpcError.of(STANDARD.invalidRequest, "message must be an object"),
      );
    }
    const { id, method, params } = message as Record<string, unknown>;
    const hasId = typeof id === "string" || typeof id === "number";
    if (typeof method !== "string") return hasId ? this.#passAnswer(text, message, id) : undefined;
    if (hasId) return this.#passRequest(text, message, id);
    if (this.#cancelMethods.has(method)) return this.#passCancel(message, params);
    return this.#pass(text);
  }

  fault(fault: FrameFault): void {
    const lost = recoverMessage(fault);
    const why = fault.kind === "oversize" ? `message is over ${fault.limit} bytes` : "not UTF-8";
    const error = RpcError.of(STANDARD.invalidRequest, why);
    if (lost.isResponse) this.answers.#fail(Number(lost.idText), error);
    else void this.#refuse(lost.idText, error);
  }

  end(error?: Error): void {
    // Nobody will answer what went the other way and waits for this side.
    const gone = RpcError.of(STANDARD.internal, "the other side closed the connection");
    for (const ours of [...this.answers.#pending.keys()]) this.answers.#fail(ours, gone);
    if (error !== undefined) this.#target.abort(error);
    this.over.resolve();
  }

  #passRequest(text: string, message: object, id: string | number): void | Promise<void> {
    const theirs = idText(id, text);
    if (this.#ours.has(theirs)) {
      const why = `id ${theirs} belongs to a request in flight`;
      return this.#refuse(theirs, RpcError.of(STANDARD.invalidRequest, why));
    }
    const ours = ++this.#lastId;
    this.#pending.set(ours, theirs);
    this.#ours.set(theirs, ours);
    return this.#pass(withId(text, message, String(ours)));
  }

  #passAnswer(text: string, message: object, id: string | number): void | Promise<void> {
    const theirs = typeof id === "number" ? this.answers.#take(id) : undefined;
    // Nobody asked, or was answered already.
    return theirs === undefined ? undefined : this.#pass(withId(text, message, theirs));
  }

  #passCancel(message: object, params: unknown): void | Promise<void> {
    const requestId = (params as { requestId?: unknown } | undefined)?.requestId;
    const ours = this.#ours.get(JSON.stringify(requestId));
    if (ours === undefined) return undefined;
    return this.#pass(
      JSON.stringify({ ...message, params: { ...(params as object), requestId: ours } }),
    );
  }

  #take(ours: number): string | undefined {
    const theirs = this.#pending.get(ours);
    if (theirs === undefined) return undefined;
    this.#pending.delete(ours);
    this.#ours.delete(theirs);
    return theirs;
  }

  /** Answers a request of this way in the other side's stead. */
  #fail(ours: number, error: RpcError): void {
    const theirs = this.#take(ours);
    if (theirs !== undefined) void this.#refuse(theirs, error);
  }

  #refuse(id: string, error: RpcError): void | Promise<void> {
    const room = this.#source.send(`{"jsonrpc":"2.0","id":${id},"error":${errorText(error)}}`);
    return room === ROOM ? undefined : room;
  }

  #pass(text: string): void | Promise<void> {
    const room = this.#target.send(onOneLine(text));
    return room === ROOM ? undefined : room;
  }
}

/** The message with another id and otherwise as it stands. */
function withId(text: string, message: object, id: string): string {
  const envelope = readEnvelope(text);
  if (envelope.id === undefined || envelope.isAmbiguous) return rebuilt(message, id);
  return text.slice(0, envelope.id.from) + id + text.slice(envelope.id.to);
}

/** Where two parsers may read the text differently, there is only one way to be sure. */
function rebuilt(message: object, id: string): string {
  const rest = JSON.stringify({ ...message, id: undefined });
  return rest === "{}" ? `{"id":${id}}` : `{"id":${id},${rest.slice(1)}`;
}

/** A line break between tokens is only white space, but would end the message on a line channel. */
function onOneLine(text: string): string {
  return text.includes("\n") ? text.replaceAll(/[\r\n]/g, " ") : text;
}

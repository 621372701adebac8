import { background } from "../base/background.ts";
import { type Channel, type FrameFault, ROOM, type Room, type Sink } from "../wire/channel.ts";
import { STANDARD, TRUNKLINE } from "./codes.ts";
import { readEnvelope, type Span } from "./message/envelope.ts";
import { faultError } from "./fault-error.ts";
import {
  holdId,
  isId,
  LONGEST_ID,
  type LostMessage,
  recoverMessage,
  recoverUnparsed,
} from "./message/id.ts";
import { parseMessage } from "./message/parse-message.ts";
import { type PeerLimits, resolvePeerLimits } from "./peer-options.ts";
import { errorText, RpcError } from "./rpc-error.ts";

export interface RelayOptions {
  /** Notifications that name a request in `params.requestId`. */
  readonly cancelMethods: readonly string[];
  readonly limits?: Partial<PeerLimits>;
}

/**
 * Joins two channels. A request gets an id of the relay's own on its way out and its first id back
 * on the answer; everything else in a message passes byte for byte, so that fields nobody here knows
 * and numbers that JavaScript cannot hold arrive as they were sent. When one side has finished, the
 * other is closed as soon as the answers that are still due have passed. Resolves when both are
 * closed.
 */
export async function relay(
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
  await Promise.all([forth.over.promise, back.over.promise]);
  await Promise.all([left[Symbol.asyncDispose](), right[Symbol.asyncDispose]()]);
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
  #sourceEnded = false;

  constructor(source: Channel<string>, target: Channel<string>, options: RelayOptions) {
    this.#source = source;
    this.#target = target;
    this.#limits = resolvePeerLimits(options.limits);
    this.#cancelMethods = new Set(options.cancelMethods);
  }

  message(text: string): void | Room {
    const message = parseMessage(text, this.#limits);
    if (message instanceof RpcError) return this.#unread(text, message);
    if (typeof message !== "object" || message === null || Array.isArray(message)) {
      return this.#refuse(
        "null",
        RpcError.of(STANDARD.invalidRequest, "message must be an object"),
      );
    }
    const { id, method, params } = message as Record<string, unknown>;
    const line = onOneLine(text);
    if (typeof method !== "string") {
      return isId(id) ? this.#passAnswer(line, message, id) : undefined;
    }
    if (isId(id)) return this.#passRequest(line, message, id);
    if (typeof id === "string") {
      const why = `'id' is longer than ${LONGEST_ID} characters`;
      return this.#refuse("null", RpcError.of(STANDARD.invalidRequest, why));
    }
    if (this.#cancelMethods.has(method)) return this.#passCancel(message, params);
    const isPlain = hasPlainKeys(line) && !line.includes('"id"');
    if (isPlain || !readEnvelope(line).isAmbiguous) return this.#pass(line);
    return this.#pass(JSON.stringify(message));
  }

  fault(fault: FrameFault): void {
    background(this.#lost(recoverMessage(fault), faultError(fault)), "Refusing a request");
  }

  end(error?: Error): void {
    // Nobody will answer what went the other way and waits for this side.
    const gone = RpcError.of(STANDARD.internal, "the other side closed the connection");
    for (const ours of [...this.answers.#pending.keys()]) this.answers.#fail(ours, gone);
    this.#sourceEnded = true;
    // Whoever only finished sending still reads; whoever died waits for no answer.
    if (error !== undefined) this.#closeTarget();
    else this.#closeIfAnswered();
    this.over.resolve();
  }

  #closeIfAnswered(): void {
    if (this.#sourceEnded && this.#pending.size === 0) this.#closeTarget();
  }

  #closeTarget(): void {
    const finish = (): void => this.answers.over.resolve();
    this.#target[Symbol.asyncDispose]().then(finish, finish);
  }

  #unread(text: string, error: RpcError): void | Room {
    if (error.code === STANDARD.parse.code) return this.#refuse("null", error);
    return this.#lost(recoverUnparsed(text), error);
  }

  #lost(lost: LostMessage, error: RpcError): void | Room {
    if (lost.isResponse) this.answers.#fail(Number(lost.idText), error);
    else return this.#refuse(lost.idText, error);
  }

  #passRequest(text: string, message: object, id: string | number): void | Room {
    const theirs = String(holdId(id, text));
    if (this.#ours.has(theirs)) {
      const why = `id ${theirs} belongs to a request in flight`;
      return this.#refuse(theirs, RpcError.of(STANDARD.invalidRequest, why));
    }
    if (this.#pending.size >= this.#limits.maxInFlight) {
      return this.#refuse(theirs, RpcError.of(TRUNKLINE.busy));
    }
    const ours = ++this.#lastId;
    this.#pending.set(ours, theirs);
    this.#ours.set(theirs, ours);
    return this.#pass(withId(text, message, String(ours)));
  }

  #passAnswer(text: string, message: object, id: string | number): void | Room {
    const theirs = typeof id === "number" ? this.answers.#take(id) : undefined;
    // Nobody asked, or was answered already.
    if (theirs === undefined) return undefined;
    const room = this.#pass(withId(text, message, theirs));
    this.answers.#closeIfAnswered();
    return room;
  }

  #passCancel(message: object, params: unknown): void | Room {
    const requestId = (params as { requestId?: unknown } | undefined)?.requestId;
    const ours = this.#named(requestId);
    if (ours === undefined) return undefined;
    return this.#pass(
      JSON.stringify({ ...message, params: { ...(params as object), requestId: ours } }),
    );
  }

  /** Our id for the request that the sender names; none where a large number may be several. */
  #named(theirs: unknown): number | undefined {
    const exact = this.#ours.get(JSON.stringify(theirs));
    if (exact !== undefined || typeof theirs !== "number" || Number.isSafeInteger(theirs)) {
      return exact;
    }
    const alike = [...this.#ours].filter(([text]) => Number(text) === theirs);
    return alike.length === 1 ? alike[0]?.[1] : undefined;
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
    if (theirs === undefined) return;
    background(this.#refuse(theirs, error), "Refusing a request");
    this.#closeIfAnswered();
  }

  #refuse(id: string, error: RpcError): void | Room {
    const room = this.#source.send(`{"jsonrpc":"2.0","id":${id},"error":${errorText(error)}}`);
    return room === ROOM ? undefined : room;
  }

  #pass(text: string): void | Room {
    const room = this.#target.send(text);
    return room === ROOM ? undefined : room;
  }
}

/** The message with another id and otherwise as it stands. */
function withId(text: string, message: object, id: string): string {
  const span = usualId(text) ?? unambiguousId(text);
  if (span === undefined) return rebuilt(message, id);
  return text.slice(0, span.from) + id + text.slice(span.to);
}

function unambiguousId(text: string): Span | undefined {
  const envelope = readEnvelope(text);
  return envelope.isAmbiguous ? undefined : envelope.id;
}

/** How nearly everybody begins a message that has an id. */
const USUAL_START = '{"jsonrpc":"2.0","id":';

/**
 * The id where it usually stands, if nothing in the text could be another one: a few searches
 * instead of a walk through all of it, which would cost more than parsing it does.
 */
function usualId(text: string): Span | undefined {
  if (!text.startsWith(USUAL_START)) return undefined;
  const from = USUAL_START.length;
  const isString = text[from] === '"';
  const end = text.indexOf(isString ? '"' : ",", from + 1);
  if (end < 0 || (isString && text[end - 1] === "\\")) return undefined;
  const to = isString ? end + 1 : end;
  return hasPlainKeys(text) && !text.includes('"id"', to) ? { from, to } : undefined;
}

/** No key is spelt with escapes, and `method` is there once at most, at whatever level. */
function hasPlainKeys(text: string): boolean {
  if (text.includes("\\u")) return false;
  const method = text.indexOf('"method"');
  return method < 0 || !text.includes('"method"', method + 1);
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

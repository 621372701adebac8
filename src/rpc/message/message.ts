import { CHEAP, type ComplexityLimits, isDeeper, measureComplexity, UNSEEN } from "./complexity.ts";
import { numberProblem } from "../../base/check.ts";
import { STANDARD } from "../codes.ts";
import { RpcError } from "../rpc-error.ts";
import type { FrameFault } from "../../wire/channel.ts";
import { readEnvelope } from "./envelope.ts";

/** A parsed message. */
export type Message =
  | {
      readonly kind: "request";
      readonly id: HeldId;
      readonly method: string;
      readonly params: unknown;
    }
  | { readonly kind: "notification"; readonly method: string; readonly params: unknown }
  | {
      readonly kind: "answer";
      readonly id: unknown;
      readonly body: { readonly result?: unknown; readonly error?: unknown };
    }
  | { readonly kind: "invalid"; readonly id: HeldId; readonly why: string };

const NO_PARAMS: Readonly<Record<string, never>> = Object.freeze({});

/** Tells requests, notifications and answers apart (JSON-RPC 2.0 § 4, § 4.1 and § 5). */
export function classify(
  value: unknown,
  text: string,
  options: { readonly nullIdIsNotification: boolean },
): Message {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { kind: "invalid", id: "null", why: "message must be an object" };
  }
  const { jsonrpc, id, method } = value as Record<string, unknown>;
  // Some peers send null instead of leaving the parameters out.
  const params = (value as { params?: unknown }).params ?? NO_PARAMS;
  const hasId = isId(id);
  if (typeof method !== "string" && ("result" in value || "error" in value)) {
    return { kind: "answer", id, body: value };
  }
  const isNotification = id === undefined || (id === null && options.nullIdIsNotification);
  const why =
    typeof method !== "string"
      ? `'method' ${method === undefined ? "is missing" : "must be a string"}`
      : jsonrpc !== "2.0"
        ? `'jsonrpc' must be "2.0"`
        : !hasId && !isNotification
          ? badId(id)
          : undefined;
  const held = hasId ? holdId(id, text) : "null";
  if (why !== undefined) return { kind: "invalid", id: held, why };
  return isNotification
    ? { kind: "notification", method: method as string, params }
    : { kind: "request", id: held, method: method as string, params };
}

function badId(id: unknown): string {
  return typeof id === "string"
    ? `'id' is longer than ${LONGEST_ID} characters`
    : "'id' must be a string or a number";
}

/** Characters of an id: it is kept while its request is in flight, and repeated in the answer. */
export const LONGEST_ID = 512;

/**
 * An id while its request is in flight: a whole number as it is, which is quick to look up, anything
 * else as its JSON text. So `1` and `"1"` stay two things.
 */
export type HeldId = number | string;

export function isId(id: unknown): id is string | number {
  return typeof id === "number" || (typeof id === "string" && id.length <= LONGEST_ID);
}

/**
 * Holds a message's id exactly. A number that JavaScript cannot hold is copied from the message as
 * it was written.
 */
export function holdId(id: string | number, message: string): HeldId {
  if (typeof id === "string") return JSON.stringify(id);
  // Minus zero is written without its sign.
  if (Number.isSafeInteger(id)) return id + 0;
  const { id: span, isAmbiguous } = readEnvelope(message);
  return span === undefined || isAmbiguous ? JSON.stringify(id) : message.slice(span.from, span.to);
}

/** What could be recovered of a message that was not read whole. */
export interface LostMessage {
  /** JSON text of the id, or `null`. */
  readonly idText: string;
  /** It answers a request of ours. */
  readonly isResponse: boolean;
}

/** How many characters at each end of a text are searched. */
const HEAD = 4096;
const TAIL = 256;

const ID = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})){0,${LONGEST_ID}}"`;
const WHOLE_ID = new RegExp(`^(?:${ID})$`);
/** An object whose last member is its id: one brace follows, so the id is at the first level. */
const ID_AT_END = new RegExp(String.raw`,\s*"id"\s*:\s*(${ID})\s*\}\s*$`);

/** Recovers the id from the ends of a message that a channel could not deliver. */
export function recoverMessage({ kind, head, tail }: FrameFault): LostMessage {
  const lost = recoverFromEnds(head, tail);
  if (kind === "oversize") return lost;
  // In bytes that are not UTF-8, the id may be damaged. The id of an answer is one of ours.
  return lost.isResponse ? lost : { idText: "null", isResponse: false };
}

/** Recovers the id of a text that is not parsed because that would take too much work. */
export function recoverUnparsed(text: string): LostMessage {
  return recoverFromEnds(text.slice(0, HEAD), text.slice(-TAIL));
}

function recoverFromEnds(head: string, tail: string): LostMessage {
  const envelope = readEnvelope(head);
  const found =
    envelope.id === undefined
      ? ID_AT_END.exec(tail)?.[1]
      : head.slice(envelope.id.from, envelope.id.to);
  const isResponse =
    envelope.method === undefined &&
    (envelope.isResponse || /^\s*\{[^{}]{0,80}"(?:result|error)"\s*:/.test(head));
  return { idText: found !== undefined && WHOLE_ID.test(found) ? found : "null", isResponse };
}

/** A text whose parsing takes more work than the limit. */
export const TOO_MUCH = Symbol("too much work");

/** The value of a message's text, or the error to answer it with. */
export function parseMessage(text: string, limits: ComplexityLimits): unknown {
  const value = tryParse(text, limits);
  return value === TOO_MUCH ? refuse("made of too many values") : value;
}

/** The same, with `TOO_MUCH` for one that may be parsed in another thread. */
export function tryParse(text: string, limits: ComplexityLimits): unknown {
  const refusal = text.length > UNSEEN ? tooComplex(text, limits) : undefined;
  if (refusal !== undefined) return refusal;
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    return notJson(error instanceof Error ? error.message : String(error));
  }
}

/** Every text that has a number too large for JavaScript has one of these. Together they take twice as long. */
const LARGE_EXPONENT = /[eE]\+?\d{3}/;
const MANY_DIGITS = /(?<!\d)\d{200}/;

/** Refuses what a message carries if it has a number that is too large. One that is an id is held as it was written. */
export function refuseHuge(carried: unknown, text: string): RpcError | undefined {
  if (!LARGE_EXPONENT.test(text) && !MANY_DIGITS.test(text)) return undefined;
  const problem = numberProblem(carried);
  return problem === undefined ? undefined : RpcError.of(STANDARD.invalidRequest, problem);
}

function tooComplex(
  text: string,
  limits: ComplexityLimits,
): RpcError | typeof TOO_MUCH | undefined {
  const tooDeep = `nested deeper than ${limits.maxDepth} levels`;
  if (text.length <= CHEAP) return isDeeper(text, limits.maxDepth) ? refuse(tooDeep) : undefined;
  const { work, depth, isCutOff } = measureComplexity(text, limits);
  if (depth > limits.maxDepth) return refuse(tooDeep);
  if (work > limits.maxWork) return TOO_MUCH;
  return isCutOff ? notJson("Unterminated string") : undefined;
}

function notJson(detail: string): RpcError {
  return RpcError.of(STANDARD.parse, undefined, { detail });
}

export function refuse(what: string): RpcError {
  return RpcError.of(STANDARD.invalidRequest, `message is ${what}`);
}

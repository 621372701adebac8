import type { FrameFault } from "../../wire/channel.ts";
import { readEnvelope } from "./envelope.ts";

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
  if (span === undefined || isAmbiguous) return JSON.stringify(id);
  return message.slice(span.from, span.to);
}

/** What could be recovered of a message that was not read whole. */
export interface LostMessage {
  /** JSON text of the id, or `null`. */
  readonly idText: string;
  /** It answers a request of ours. */
  readonly isResponse: boolean;
}

/** How much of a text's ends is looked at. */
const HEAD = 4096;
const TAIL = 256;

const ID = String.raw`-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})){0,${LONGEST_ID}}"`;
const WHOLE_ID = new RegExp(`^(?:${ID})$`);
/** An object whose last member is its id: one brace follows, so the id is at the first level. */
const ID_AT_END = new RegExp(String.raw`,\s*"id"\s*:\s*(${ID})\s*\}\s*$`);

/** From what a channel kept of a message that it could not deliver. */
export function recoverMessage({ kind, head, tail }: FrameFault): LostMessage {
  const lost = recoverFromEnds(head, tail);
  if (kind === "oversize") return lost;
  // Where the bytes are no text the id may not be what was sent. An answer's id is one of ours.
  return lost.isResponse ? lost : { idText: "null", isResponse: false };
}

/** From a text that is not parsed, because that would cost too much. */
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

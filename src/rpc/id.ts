import type { FrameFault } from "../wire/channel.ts";
import { readEnvelope } from "./envelope.ts";

/**
 * A message's id as JSON text: kept exactly, never coerced, so `1` and `"1"` differ. A number that
 * JavaScript cannot hold is copied from the message as it was written.
 */
export function idText(id: string | number, message: string): string {
  if (typeof id === "string") return JSON.stringify(id);
  if (Number.isSafeInteger(id)) return String(id);
  const span = readEnvelope(message).id;
  return span === undefined ? JSON.stringify(id) : message.slice(span.from, span.to);
}

/** What could be recovered of a message that was not read whole. */
export interface LostMessage {
  /** JSON text of the id, or `null`. */
  readonly idText: string;
  /** It answers a request of ours. */
  readonly isResponse: boolean;
}

const ID = /^(?:-?\d+|"(?:[^"\\\n]|\\.){0,512}")$/;
/** An object whose last member is its id: one brace follows, so the id is at the first level. */
const ID_AT_END = /,\s*"id"\s*:\s*(-?\d+|"(?:[^"\\\n]|\\.){0,512}")\s*\}\s*$/;

export function recoverMessage(fault: FrameFault): LostMessage {
  if (fault.kind === "encoding") return { idText: "null", isResponse: false };
  const envelope = readEnvelope(fault.head);
  const found =
    envelope.id === undefined
      ? ID_AT_END.exec(fault.tail)?.[1]
      : fault.head.slice(envelope.id.from, envelope.id.to);
  const isResponse =
    envelope.isResponse ||
    (envelope.method === undefined && /^\s*\{[^{}]{0,80}"(?:result|error)"\s*:/.test(fault.head));
  return { idText: found !== undefined && ID.test(found) ? found : "null", isResponse };
}

import type { SessionUpdate } from "../agent.ts";
import { OUTPUT, WORST } from "./merged-update.ts";

/** Bytes of a message around its update. */
const AROUND = 256;

/** Bytes of an update in a message of at most so many bytes. */
export function roomIn(maxSize: number): number {
  return maxSize - AROUND;
}

/** Whether an update with this JSON text fits into one message. */
export function fits(text: string, maxSize: number): boolean {
  const room = roomIn(maxSize);
  return text.length * 3 <= room || Buffer.byteLength(text) <= room;
}

/**
 * Splits an update into messages that keep to the limit (ACP message specification § Message Size
 * Limits). A text chunk is split, an image becomes a note; in any other update the longest strings are shortened, with a note
 * of how much was cut.
 */
export function fitUpdate(update: SessionUpdate, text: string, maxSize: number): SessionUpdate[] {
  if (fits(text, maxSize)) return [update];
  const room = roomIn(maxSize);
  const content = update.content as { type?: unknown; text?: unknown } | undefined;
  if (content?.type === "text" && typeof content.text === "string") {
    const around = Buffer.byteLength(text) - Buffer.byteLength(JSON.stringify(content.text));
    const size = Math.max(1, Math.floor((room - around) / WORST));
    return pieces(content.text, size).map((piece) => ({
      ...update,
      content: { ...content, text: piece },
    }));
  }
  const output = outputIn(update, room);
  if (output !== undefined) return output;
  // Data that is cut is no image any more, and breaks clients.
  if (isData(content)) return [{ ...update, content: { type: "text", text: noteOn(content) } }];
  return [shorten(update, room)];
}

/** The output of a command, split; undefined where that is not what makes an update long. */
function outputIn(update: SessionUpdate, room: number): SessionUpdate[] | undefined {
  const { [OUTPUT]: piece, ...meta } = (update._meta ?? {}) as Readonly<Record<string, unknown>>;
  const { data } = (piece ?? {}) as { readonly data?: unknown };
  const { toolCallId } = update;
  const rest = { ...update, _meta: { ...meta, [OUTPUT]: { ...(piece as object), data: "" } } };
  const around = Buffer.byteLength(JSON.stringify(rest));
  if (typeof data !== "string" || around > room / 2) return undefined;
  const parts = pieces(data, Math.floor((room - around) / WORST));
  return parts.map((text, at) => {
    const _meta = { [OUTPUT]: { ...(piece as object), data: text } };
    if (at < parts.length - 1) return { sessionUpdate: "tool_call_update", toolCallId, _meta };
    return { ...update, _meta: { ...meta, ..._meta } };
  });
}

interface Data {
  readonly data: string;
  readonly mimeType?: unknown;
}

function isData(content: object | undefined): content is Data {
  return content !== undefined && "data" in content && typeof content.data === "string";
}

function noteOn({ data, mimeType }: Data): string {
  const megabytes = ((data.length * 3) / 4 / 1024 / 1024).toFixed(1);
  return `[${String(mimeType).slice(0, 100)}, ${megabytes} MB]`;
}

/** A text in pieces of at most that many characters. */
export function pieces(text: string, size: number): string[] {
  const found: string[] = [];
  for (let at = 0; at < text.length;) {
    let end = Math.min(text.length, at + size);
    // Do not split a surrogate pair.
    if (end < text.length && (text.charCodeAt(end - 1) & 0xfc00) === 0xd800) {
      end = end - 1 > at ? end - 1 : end + 1;
    }
    found.push(text.slice(at, end));
    at = end;
  }
  return found;
}

function shorten(update: SessionUpdate, room: number): SessionUpdate {
  for (let longest = room; longest >= 1; longest = Math.floor(longest / 2)) {
    const short = cut(update, longest) as SessionUpdate;
    if (Buffer.byteLength(JSON.stringify(short)) <= room) return short;
  }
  // Too many small parts: keep only what identifies the tool call.
  const { sessionUpdate, toolCallId, title, kind, status } = update;
  const kept = { toolCallId, title, kind, status };
  const known = Object.entries(kept).filter(([, value]) => value !== undefined);
  return { sessionUpdate, ...Object.fromEntries(known) };
}

/** Shortens the strings in a value, with a note of how much was cut. */
export function cut(value: unknown, longest: number): unknown {
  if (typeof value === "string") {
    if (value.length <= longest) return value;
    return `${value.slice(0, longest).toWellFormed()}… (${value.length - longest} characters more)`;
  }
  if (Array.isArray(value)) return value.map((item) => cut(item, longest));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, cut(item, longest)]));
}

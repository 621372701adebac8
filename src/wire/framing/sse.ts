import { ByteQueue } from "./byte-queue.ts";
import type { TextDecoder, TextFrames } from "./ndjson.ts";

/** One event of a `text/event-stream` (WHATWG HTML, section 9.2). */
export interface SseEvent {
  /** "message" unless the stream named another. */
  readonly event: string;
  readonly data: string;
  /** The last event id the stream has given, this event's own or an earlier one's. */
  readonly id: string;
}

/** The text of one event. */
export function encodeSse(data: string, fields: { event?: string; id?: string } = {}): string {
  let text = "";
  if (fields.event !== undefined) text += `event: ${fields.event}\n`;
  if (fields.id !== undefined) text += `id: ${fields.id}\n`;
  for (const line of data.split(/\r\n|\r|\n/)) text += `data: ${line}\n`;
  return text + "\n";
}

export interface SseEvents {
  event(event: SseEvent): void;
  fault: TextFrames["fault"];
}

const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;
const BYTE_ORDER_MARK = Buffer.from("\u{feff}");
const NEWLINE = Buffer.from("\n");
/** Room for a field's name beside its value. */
const FIELD_NAME = 64;

/**
 * Reads an event stream. An event over the limit is counted, dropped and reported at its end; the
 * stream goes on. Invalid UTF-8 becomes U+FFFD, as the standard says.
 *
 * Lines and data are collected as bytes: text that grows by pieces takes many times its size.
 */
export function sseDecoder(limit: number, out: SseEvents): TextDecoder {
  /** The line that has not ended yet. */
  const unfinished = new ByteQueue(limit + FIELD_NAME);
  /** The data of the event that has not ended yet. */
  const gathered = new ByteQueue(limit);
  let hasData = false;
  /** Of data lines that were too long to be kept: the bytes that are missing, and the last of them. */
  let lost = 0;
  let lostTail: string | undefined;
  let eventName = "";
  let id = "";
  let lastWasCr = false;
  let isFirst = true;
  const finishLine = (): void => {
    const kept = unfinished.take();
    const bytes = kept ?? unfinished.head;
    const hasMark = isFirst && bytes.indexOf(BYTE_ORDER_MARK) === 0;
    isFirst = false;
    const line = hasMark ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
    if (line.length === 0) dispatch();
    else field(line, kept === undefined);
    unfinished.clear();
  };
  const field = (line: Buffer, isCut: boolean): void => {
    const colon = line.indexOf(COLON);
    const name = line.toString("latin1", 0, colon < 0 ? line.length : colon);
    const from = colon < 0 ? line.length : colon + (line[colon + 1] === SPACE ? 2 : 1);
    const value = line.subarray(from);
    if (name === "data") {
      addData(value);
      if (isCut) lose(line.length);
    } else if (isCut) return;
    else if (name === "event") eventName = value.toString();
    else if (name === "id" && !value.includes(0)) id = value.toString();
  };
  const addData = (value: Buffer): void => {
    if (hasData) gathered.append(NEWLINE);
    hasData = true;
    gathered.append(value);
    if (lost > 0) lostTail = undefined;
  };
  const lose = (kept: number): void => {
    lost += unfinished.size - kept;
    lostTail = unfinished.tail.toString();
  };
  const dispatch = (): void => {
    const data = lost > 0 ? undefined : gathered.take();
    if (data === undefined) {
      out.fault({
        kind: "oversize",
        size: gathered.size + lost,
        limit,
        head: gathered.head.toString(),
        tail: lostTail ?? gathered.tail.toString(),
      });
    } else if (hasData) {
      const event = eventName || "message";
      out.event({ event, data: data.toString(), id });
    }
    clear();
  };
  const clear = (): void => {
    gathered.clear();
    hasData = false;
    lost = 0;
    lostTail = undefined;
    eventName = "";
  };
  return {
    push(chunk) {
      if (chunk.length === 0) return;
      // A CR that ended the last chunk may have been the first half of a CRLF.
      let from = lastWasCr && chunk[0] === LF ? 1 : 0;
      let cr = chunk.indexOf(CR, from);
      let lf = chunk.indexOf(LF, from);
      while (cr >= 0 || lf >= 0) {
        const to = cr < 0 || (lf >= 0 && lf < cr) ? lf : cr;
        if (to > from) unfinished.append(chunk.subarray(from, to));
        finishLine();
        from = to + (to === cr && lf === cr + 1 ? 2 : 1);
        if (cr >= 0 && cr < from) cr = chunk.indexOf(CR, from);
        if (lf >= 0 && lf < from) lf = chunk.indexOf(LF, from);
      }
      unfinished.append(chunk.subarray(from));
      lastWasCr = chunk.at(-1) === CR;
    },
    /** An event without its blank line is incomplete, and the standard drops it. */
    end() {
      unfinished.clear();
      clear();
    },
  };
}

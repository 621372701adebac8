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
export class SseDecoder implements TextDecoder {
  readonly #limit: number;
  readonly #out: SseEvents;
  /** The line that has not ended yet. */
  readonly #line: ByteQueue;
  /** The data of the event that has not ended yet. */
  readonly #data: ByteQueue;
  #hasData = false;
  /** Of data lines that were too long to be kept: the bytes that are missing, and the last of them. */
  #lost = 0;
  #lostTail: string | undefined;
  #event = "";
  #id = "";
  #lastWasCr = false;
  #isFirst = true;

  constructor(limit: number, out: SseEvents) {
    this.#limit = limit;
    this.#out = out;
    this.#line = new ByteQueue(limit + FIELD_NAME);
    this.#data = new ByteQueue(limit);
  }

  push(chunk: Buffer): void {
    if (chunk.length === 0) return;
    // A CR that ended the last chunk may have been the first half of a CRLF.
    let from = this.#lastWasCr && chunk[0] === LF ? 1 : 0;
    let cr = chunk.indexOf(CR, from);
    let lf = chunk.indexOf(LF, from);
    while (cr >= 0 || lf >= 0) {
      const to = cr < 0 || (lf >= 0 && lf < cr) ? lf : cr;
      if (to > from) this.#line.append(chunk.subarray(from, to));
      this.#finishLine();
      from = to + (to === cr && lf === cr + 1 ? 2 : 1);
      if (cr >= 0 && cr < from) cr = chunk.indexOf(CR, from);
      if (lf >= 0 && lf < from) lf = chunk.indexOf(LF, from);
    }
    this.#line.append(chunk.subarray(from));
    this.#lastWasCr = chunk.at(-1) === CR;
  }

  /** An event without its blank line is incomplete, and the standard drops it. */
  end(): void {
    this.#line.clear();
    this.#clear();
  }

  #finishLine(): void {
    const kept = this.#line.take();
    const bytes = kept ?? this.#line.head;
    const hasMark = this.#isFirst && bytes.indexOf(BYTE_ORDER_MARK) === 0;
    this.#isFirst = false;
    const line = hasMark ? bytes.subarray(BYTE_ORDER_MARK.length) : bytes;
    if (line.length === 0) this.#dispatch();
    else this.#field(line, kept === undefined);
    this.#line.clear();
  }

  #field(line: Buffer, isCut: boolean): void {
    const colon = line.indexOf(COLON);
    const name = line.toString("latin1", 0, colon < 0 ? line.length : colon);
    const from = colon < 0 ? line.length : colon + (line[colon + 1] === SPACE ? 2 : 1);
    const value = line.subarray(from);
    if (name === "data") {
      this.#addData(value);
      if (isCut) this.#lose(line.length);
    } else if (isCut) return;
    else if (name === "event") this.#event = value.toString();
    else if (name === "id" && !value.includes(0)) this.#id = value.toString();
  }

  #addData(value: Buffer): void {
    if (this.#hasData) this.#data.append(NEWLINE);
    this.#hasData = true;
    this.#data.append(value);
    if (this.#lost > 0) this.#lostTail = undefined;
  }

  #lose(kept: number): void {
    this.#lost += this.#line.size - kept;
    this.#lostTail = this.#line.tail.toString();
  }

  #dispatch(): void {
    const data = this.#lost > 0 ? undefined : this.#data.take();
    if (data === undefined) {
      this.#out.fault({
        kind: "oversize",
        size: this.#data.size + this.#lost,
        limit: this.#limit,
        head: this.#data.head.toString(),
        tail: this.#lostTail ?? this.#data.tail.toString(),
      });
    } else if (this.#hasData) {
      const event = this.#event || "message";
      this.#out.event({ event, data: data.toString(), id: this.#id });
    }
    this.#clear();
  }

  #clear(): void {
    this.#data.clear();
    this.#hasData = false;
    this.#lost = 0;
    this.#lostTail = undefined;
    this.#event = "";
  }
}

import { StringDecoder } from "node:string_decoder";

import type { TextDecoder, TextFrames, TextFraming } from "./text-framing.ts";

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

/** Messages as the data of events; other fields are not looked at. */
export const sse: TextFraming = {
  decoder: (limit, out) =>
    new SseDecoder(limit, {
      event: ({ data }) => out.text(data),
      fault: (fault) => out.fault(fault),
    }),
  encode: (message) => encodeSse(message),
};

export interface SseEvents {
  event(event: SseEvent): void;
  fault: TextFrames["fault"];
}

const HEAD = 4096;
const TAIL = 256;
/** Room for a field's name beside its value. */
const FIELD_NAME = 64;

/**
 * Reads an event stream. An event over the limit is counted, dropped and reported at its end; the
 * stream goes on. Invalid UTF-8 becomes U+FFFD, as the standard says.
 */
export class SseDecoder implements TextDecoder {
  readonly #limit: number;
  readonly #out: SseEvents;
  readonly #utf8 = new StringDecoder("utf8");
  /** The line that has not ended yet. */
  #line = "";
  #data = "";
  #hasData = false;
  #event = "";
  #id = "";
  /** Characters of the present line and of the present event's data, kept or not. */
  #lineSize = 0;
  #size = 0;
  #lastWasCr = false;
  #isFirst = true;

  constructor(limit: number, out: SseEvents) {
    this.#limit = limit;
    this.#out = out;
  }

  push(chunk: Buffer): void {
    let text = this.#utf8.write(chunk);
    if (text === "") return;
    if (this.#isFirst && text.startsWith("\uFEFF")) text = text.slice(1);
    this.#isFirst = false;
    // A CR that ended the last chunk may have been the first half of a CRLF.
    let from = this.#lastWasCr && text.startsWith("\n") ? 1 : 0;
    this.#lastWasCr = text.endsWith("\r");
    for (let to = endOfLine(text, from); to >= 0; to = endOfLine(text, from)) {
      this.#append(text.slice(from, to));
      this.#finishLine();
      from = to + (text.startsWith("\r\n", to) ? 2 : 1);
    }
    this.#append(text.slice(from));
  }

  /** An event without its blank line is incomplete, and the standard drops it. */
  end(): void {
    this.#clear();
    this.#line = "";
    this.#lineSize = 0;
  }

  #append(part: string): void {
    this.#lineSize += part.length;
    const room = this.#limit + FIELD_NAME - this.#line.length;
    this.#line += room < part.length ? part.slice(0, Math.max(0, room)) : part;
  }

  #finishLine(): void {
    const line = this.#line;
    const lost = this.#lineSize - line.length;
    this.#line = "";
    this.#lineSize = 0;
    if (line === "") {
      this.#dispatch();
      return;
    }
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon < 0 ? line : line.slice(0, colon);
    const rest = colon < 0 ? "" : line.slice(colon + 1);
    const value = rest.startsWith(" ") ? rest.slice(1) : rest;
    if (field === "data") {
      this.#addData(value, lost);
    } else if (field === "event") this.#event = value;
    else if (field === "id" && !value.includes("\0")) this.#id = value;
  }

  #addData(value: string, lost: number): void {
    const added = this.#hasData ? `\n${value}` : value;
    this.#hasData = true;
    this.#size += added.length + lost;
    // Past the limit the event is lost; only enough to recover an id is kept.
    if (this.#size <= this.#limit || this.#data.length < HEAD) this.#data += added;
  }

  #dispatch(): void {
    const data = this.#data;
    if (this.#size > this.#limit) {
      const head = data.slice(0, HEAD);
      const fault = { kind: "oversize", size: this.#size, limit: this.#limit } as const;
      this.#out.fault({ ...fault, head, tail: data.length > HEAD ? "" : head.slice(-TAIL) });
    } else if (this.#hasData) {
      this.#out.event({ event: this.#event || "message", data, id: this.#id });
    }
    this.#clear();
  }

  #clear(): void {
    this.#data = "";
    this.#hasData = false;
    this.#event = "";
    this.#size = 0;
  }
}

function endOfLine(text: string, from: number): number {
  const lf = text.indexOf("\n", from);
  const cr = text.indexOf("\r", from);
  if (cr < 0) return lf;
  return lf < 0 ? cr : Math.min(lf, cr);
}

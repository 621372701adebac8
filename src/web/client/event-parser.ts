export interface ServerEvent {
  readonly name: string;
  readonly data: string;
}

/**
 * Reads server-sent events (HTML Standard, section 9.2.6) from pieces of text. A browser's EventSource
 * gives up at the first error status and says nothing about waiting, so the stream is read here.
 */
export class EventParser {
  /** The id of the last complete event. */
  lastId: string;
  #rest = "";
  #name = "";
  #id: string | undefined;
  #data: string[] = [];

  constructor(lastId = "") {
    this.lastId = lastId;
  }

  *push(text: string): Generator<ServerEvent> {
    const whole = this.#rest + text;
    // A CR at the end of a piece may be the first half of CRLF.
    const held = whole.endsWith("\r") ? "\r" : "";
    const lines = whole.slice(0, whole.length - held.length).split(/\r\n|\n|\r/);
    this.#rest = (lines.pop() ?? "") + held;
    for (const line of lines) {
      const event = this.#line(line);
      if (event !== undefined) yield event;
    }
  }

  #line(line: string): ServerEvent | undefined {
    if (line === "") return this.#complete();
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#name = value;
    else if (field === "data") this.#data.push(value);
    else if (field === "id" && !value.includes("\0")) this.#id = value;
    return undefined;
  }

  #complete(): ServerEvent | undefined {
    const event = { name: this.#name || "message", data: this.#data.join("\n") };
    const isEvent = this.#data.length > 0;
    this.lastId = this.#id ?? this.lastId;
    this.#name = "";
    this.#id = undefined;
    this.#data = [];
    return isEvent ? event : undefined;
  }
}

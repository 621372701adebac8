import { isUtf8 } from "node:buffer";

export interface LedgerOptions {
  /** Whether each message of an array is answered; elsewhere the array gets one error. */
  readonly batches?: boolean | "perhaps";
  /** Whether a method with `"id": null` is a notification; elsewhere it gets an error. */
  readonly nullIdIsNotification?: boolean;
  /** The notification after which a request may have no answer any more, where there is one. */
  readonly silences?: string;
}

const LONGEST_ID = 512;
/** Bytes from which on a line may be refused without being parsed, and named all the same. */
const LONG = 8 * 1024;
/** A line of JSON's white space separates messages, and is none. */
const BLANK = /^[ \t\r]*$/;
const NOT_JSON = Symbol("not JSON");

/** What JSON-RPC says must be answered, told in the plainest way, and what was. */
export class Ledger {
  readonly #options: LedgerOptions;
  /** How many answers are still due under each id. */
  readonly #due = new Map<string, number>();
  /** The last request under each of these ids. */
  readonly #asked = new Map<string, string>();
  /** Of these, how many need not come. */
  readonly #excused = new Map<string, number>();
  /** What was answered that should not have been. */
  readonly surplus: string[] = [];
  requests = 0;
  /** Errors that cannot name an id: how many are due, how many came. */
  readonly nameless = { due: 0, came: 0 };
  /** How many more of them may come. */
  unclear = 0;

  constructor(options: LedgerOptions = {}) {
    this.#options = options;
  }

  /** Requests that have no answer and should. */
  get missing(): string[] {
    return [...this.#due].flatMap(([id, count]) =>
      count > (this.#excused.get(id) ?? 0) ? [`${id}: ${this.#asked.get(id)}`] : [],
    );
  }

  /** Whole lines that are about to be sent. */
  sent(bytes: Buffer): void {
    for (let at = 0; at < bytes.length;) {
      const newline = bytes.indexOf(0x0a, at);
      const end = newline < 0 ? bytes.length : newline;
      const line = bytes.subarray(at, end);
      if (!BLANK.test(line.toString("latin1"))) this.#line(line);
      at = end + 1;
    }
  }

  /** One message that is about to be sent, where each is apart from the others. */
  message(bytes: Buffer, isBinary: boolean): void {
    // It is answered or, where it may have been an answer itself, is not.
    if (isBinary) this.unclear++;
    else if (bytes.length === 0) this.nameless.due++;
    else this.#line(bytes);
  }

  /** Takes a message that came. Returns it where it is no answer, but asks or tells us something. */
  came(text: string): Record<string, unknown> | undefined {
    const message = JSON.parse(text) as Record<string, unknown> | Record<string, unknown>[];
    if (Array.isArray(message)) for (const one of message) this.#answer(one, text);
    else if (typeof message.method === "string") return message;
    else this.#answer(message, text);
    return undefined;
  }

  #answer({ id }: Record<string, unknown>, text: string): void {
    const key = keyOf(id);
    if (key === undefined) {
      this.nameless.came++;
      return;
    }
    const due = this.#due.get(key);
    if (due === undefined) {
      this.surplus.push(text.slice(0, 300));
    } else if (due === 1) {
      this.#due.delete(key);
      this.#asked.delete(key);
      this.#excused.delete(key);
    } else {
      this.#due.set(key, due - 1);
      const excused = this.#excused.get(key);
      if (excused !== undefined) this.#excused.set(key, Math.min(excused, due - 1));
    }
  }

  #line(line: Buffer): void {
    if (!isUtf8(line)) {
      if (/"(?:result|error)"/.test(line.toString())) this.unclear++;
      else this.nameless.due++;
      return;
    }
    const text = line.toString();
    const value = parse(text);
    if (value !== NOT_JSON) this.#value(value, text);
    else if (line.length < LONG) this.nameless.due++;
    else this.#perhaps(parse(/"id":("[^"]*"|[\d.e-]+)/.exec(text)?.[1] ?? ""), text);
  }

  #value(value: unknown, text: string): void {
    const { batches = false } = this.#options;
    if (!Array.isArray(value)) this.#message(value, text);
    else if (value.length === 0 || batches === false) this.nameless.due++;
    else if (batches === true) for (const one of value) this.#message(one, text);
    else for (const one of value) this.#perhaps((one as { id?: unknown } | null)?.id, text);
  }

  /** Something that is answered under its id, or under none, or not at all. */
  #perhaps(id: unknown, text: string): void {
    this.unclear++;
    const key = keyOf(id);
    if (key === undefined) return;
    this.#expect(key, text);
    this.#excused.set(key, (this.#excused.get(key) ?? 0) + 1);
  }

  #expect(key: string, text: string): void {
    this.#due.set(key, (this.#due.get(key) ?? 0) + 1);
    this.#asked.set(key, text.slice(0, 300));
  }

  #message(value: unknown, text: string): void {
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      this.nameless.due++;
      return;
    }
    const { jsonrpc, id, method, params } = value as Record<string, unknown>;
    if (typeof method !== "string" && ("result" in value || "error" in value)) return;
    const hasNoId =
      id === undefined || (id === null && this.#options.nullIdIsNotification === true);
    if (jsonrpc === "2.0" && typeof method === "string" && hasNoId) {
      if (method === this.#options.silences) this.#silence(params);
      return;
    }
    this.requests++;
    const key = keyOf(id);
    if (key === undefined) this.nameless.due++;
    else this.#expect(key, text);
  }

  #silence(params: unknown): void {
    const { requestId } = (params ?? {}) as { requestId?: unknown };
    const key = keyOf(requestId);
    const due = key === undefined ? undefined : this.#due.get(key);
    if (key !== undefined && due !== undefined) this.#excused.set(key, due);
  }
}

function keyOf(id: unknown): string | undefined {
  const isId = typeof id === "string" ? id.length <= LONGEST_ID : Number.isFinite(id);
  return isId ? `${typeof id} ${String(id)}` : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return NOT_JSON;
  }
}

import { ownCopy } from "../../base/text/own-copy.ts";
import type { SessionUpdate } from "../agent.ts";

const KINDS: ReadonlySet<string> = new Set([
  "agent_message_chunk",
  "agent_thought_chunk",
  "user_message_chunk",
  "compaction_summary_chunk",
]);

/**
 * An update that carries nothing but text, as JSON that is not parsed. Most updates are such chunks, and
 * parsing and writing them again would cost more than all the rest. The texts of two chunks are joined
 * as they stand, with their escapes.
 */
export class TextChunk {
  readonly [key: string | symbol]: unknown;
  readonly sessionUpdate: string;
  /** The JSON up to the text, with its opening quote. */
  readonly head: string;
  /** The text, with JSON's escapes. */
  readonly body: string;
  /** The JSON after the text, with its closing quote. */
  readonly tail: string;
  #json: string | undefined;
  #bytes: number | undefined;

  /** The parts must be those of valid JSON, of which `json` is the whole. */
  constructor(kind: string, head: string, body: string, tail: string, json?: string) {
    this.sessionUpdate = kind;
    this.head = head;
    this.body = body;
    this.tail = tail;
    this.#json = json;
  }

  static is(update: SessionUpdate): update is TextChunk {
    return update instanceof TextChunk;
  }

  /** An update as a chunk; undefined if it has `_meta`, annotations, or anything but text. */
  static from(update: SessionUpdate): TextChunk | undefined {
    if (TextChunk.is(update)) return update;
    const { sessionUpdate: kind, content, ...rest } = update;
    if (!KINDS.has(kind) || rest._meta !== undefined) return undefined;
    const { type, text, ...annotations } = (content ?? {}) as Record<string, unknown>;
    if (type !== "text" || typeof text !== "string") return undefined;
    if (Object.keys(annotations).length > 0) return undefined;
    const tail = '"}}';
    const empty = JSON.stringify({
      sessionUpdate: kind,
      ...rest,
      content: { type, text: "" },
    });
    const head = empty.slice(0, -tail.length);
    return new TextChunk(kind, head, JSON.stringify(text).slice(1, -1), tail);
  }

  get json(): string {
    return (this.#json ??= `${this.head}${this.body}${this.tail}`);
  }

  /** Bytes of the JSON. */
  get bytes(): number {
    return (this.#bytes ??= Buffer.byteLength(this.json));
  }

  get content(): unknown {
    return this.toJSON().content;
  }

  get messageId(): unknown {
    return this.toJSON().messageId;
  }

  /** Both texts as one chunk; undefined if they belong to different messages or exceed the bytes. */
  join(next: TextChunk, maxBytes: number): TextChunk | undefined {
    const { sessionUpdate, head, tail } = this;
    if (head !== next.head || tail !== next.tail) return undefined;
    const bytes = this.bytes + Buffer.byteLength(next.body);
    if (bytes > maxBytes) return undefined;
    const body = this.body + ownCopy(next.body);
    const joined = new TextChunk(sessionUpdate, head, body, tail);
    // Counting the whole text again for each chunk would make long texts slow.
    joined.#bytes = bytes;
    return joined;
  }

  toJSON(): SessionUpdate {
    return JSON.parse(this.json) as SessionUpdate;
  }
}

/** The JSON of an update. */
export function jsonOf(update: SessionUpdate): string {
  return TextChunk.is(update) ? update.json : JSON.stringify(update);
}

/** An update with all its members, for code that copies them. */
export function parsedUpdate(update: SessionUpdate): SessionUpdate {
  return TextChunk.is(update) ? update.toJSON() : update;
}

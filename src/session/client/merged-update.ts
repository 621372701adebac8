import type { SessionUpdate } from "../agent.ts";

const TEXTS: ReadonlySet<string> = new Set([
  "agent_message_chunk",
  "agent_thought_chunk",
  "user_message_chunk",
  "compaction_summary_chunk",
]);

/** JSON takes at most six bytes for a UTF-16 unit: `\\u0000`. */
export const WORST = 6;

/**
 * Updates that were merged into one with the same effect. Text of one message, and the output of one
 * command, are joined up to so many bytes of JSON; of two updates of a tool call, the later fields win (ACP
 * tool-calls § Updating).
 */
export class MergedUpdate {
  #update: SessionUpdate;
  /** The text of the update with those that were joined to it; undefined while there are none. */
  #text: string | undefined;
  /** Bytes of its JSON, once something was joined: counting them anew each time is slow. */
  #bytes: number | undefined;

  constructor(update: SessionUpdate) {
    this.#update = update;
  }

  get update(): SessionUpdate {
    if (this.#text === undefined) return this.#update;
    return { ...this.#update, content: { type: "text", text: this.#text } };
  }

  /** Whether the next update could be merged into this one. */
  add(next: SessionUpdate, maxBytes: number): boolean {
    if (next.sessionUpdate === "tool_call_update" && this.#update.toolCallId === next.toolCallId) {
      return this.#addCall(next, maxBytes);
    }
    const text = textAfter(this.#update, next);
    return text !== undefined && this.#addText(text, maxBytes);
  }

  #addText(text: string, maxBytes: number): boolean {
    const before = this.#text ?? (this.#update.content as { readonly text: string }).text;
    const quotes = 2;
    const bytes = (this.#bytes ?? jsonBytes(this.#update)) + jsonBytes(text) - quotes;
    if (bytes > maxBytes) return false;
    this.#bytes = bytes;
    this.#text = before + text;
    return true;
  }

  #addCall(next: SessionUpdate, maxBytes: number): boolean {
    const merged = mergedCalls(this.#update, next);
    if (merged === undefined) return false;
    // Only pieces in `_meta` are joined.
    const bytes =
      merged._meta === undefined
        ? undefined
        : (this.#bytes ?? jsonBytes(this.#update)) + jsonBytes(next);
    if ((bytes ?? 0) > maxBytes) return false;
    this.#update = merged;
    this.#bytes = bytes;
    return true;
  }
}

/** The text of an update that differs from another in nothing else; undefined if there is more. */
export function textAfter(first: SessionUpdate, second: SessionUpdate): string | undefined {
  if (!TEXTS.has(second.sessionUpdate) || textOf(first.content) === undefined) return undefined;
  return isSameBeside(first, second) ? textOf(second.content) : undefined;
}

/** Whether two updates have the same members, their content aside. */
function isSameBeside(first: SessionUpdate, second: SessionUpdate): boolean {
  for (const name in second) {
    if (name !== "content" && !isEqual(first[name], second[name])) return false;
  }
  for (const name in first) if (!(name in second)) return false;
  return true;
}

function isEqual(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

type Meta = Readonly<Record<string, unknown>>;

/** Merges two updates of one tool call; undefined where that would lose something of the first. */
function mergedCalls(first: SessionUpdate, second: SessionUpdate): SessionUpdate | undefined {
  const set = Object.entries(second).filter(([, value]) => value !== null && value !== undefined);
  const fields = { ...first, ...(Object.fromEntries(set) as object) };
  const { sessionUpdate } = first;
  const [before, after] = [first._meta, second._meta] as (Meta | undefined)[];
  if (before === undefined && after === undefined) return { ...fields, sessionUpdate };
  if (before === undefined || after === undefined) return undefined;
  for (const [name, value] of Object.entries(after)) {
    if (!(name in before) || name === OUTPUT) continue;
    // A piece of output is sent once, even if the next piece is the same.
    if (name.endsWith("_delta") || !isEqual(before[name], value)) return undefined;
  }
  const output = OUTPUT in before && OUTPUT in after ? joined(before[OUTPUT], after[OUTPUT]) : {};
  if (output === undefined) return undefined;
  return { ...fields, sessionUpdate, _meta: { ...before, ...after, ...output } };
}

/** The member of a tool call's `_meta` that has a piece of its command's output. */
export const OUTPUT = "terminal_output_delta";

function joined(first: unknown, second: unknown): Meta | undefined {
  const [one, other] = [first, second] as Meta[];
  const isSame = one?.terminal_id === other?.terminal_id;
  if (!isSame || typeof one?.data !== "string" || typeof other?.data !== "string") return undefined;
  return { [OUTPUT]: { ...other, data: one.data + other.data } };
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** The text of content that has nothing else. */
function textOf(content: unknown): string | undefined {
  const { type, text } = (content ?? {}) as Readonly<Record<string, unknown>>;
  if (type !== "text" || typeof text !== "string") return undefined;
  return Object.keys(content as object).length === 2 ? text : undefined;
}

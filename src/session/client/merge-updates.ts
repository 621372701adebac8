import type { SessionUpdate } from "../agent.ts";

const TEXTS: ReadonlySet<string> = new Set([
  "agent_message_chunk",
  "agent_thought_chunk",
  "user_message_chunk",
  "compaction_summary_chunk",
]);

/** An update, with the bytes of its JSON once texts were joined: counting them anew for each is slow. */
interface SizedUpdate {
  readonly update: SessionUpdate;
  readonly bytes?: number;
}

/**
 * Merges two updates into one with the same effect; undefined where that is not possible. Text of one
 * message, and the output of one command, are joined up to so many bytes of JSON; of two updates of a tool
 * call, the later fields win (ACP tool-calls § Updating).
 */
export function mergeUpdates(
  { update: first, bytes: known }: SizedUpdate,
  second: SessionUpdate,
  maxBytes: number,
): SizedUpdate | undefined {
  if (second.sessionUpdate === "tool_call_update" && first.toolCallId === second.toolCallId) {
    return mergeCalls(first, second, known, maxBytes);
  }
  if (first.sessionUpdate !== second.sessionUpdate) return undefined;
  const [before, after] = [textOf(first), textOf(second)];
  if (before === undefined || after === undefined) return undefined;
  if (!isSameBeside(first, second)) return undefined;
  const quotes = 2;
  const bytes = (known ?? jsonBytes(first)) + jsonBytes(after) - quotes;
  return bytes > maxBytes ? undefined : { update: withText(first, before + after), bytes };
}

/** Whether two updates have the same members, their content aside. */
function isSameBeside(first: SessionUpdate, second: SessionUpdate): boolean {
  const names = Object.keys(second);
  return (
    names.length === Object.keys(first).length &&
    names.every((name) => name === "content" || isEqual(first[name], second[name]))
  );
}

function isEqual(one: unknown, other: unknown): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

type Meta = Readonly<Record<string, unknown>>;

/** Two updates of one tool call. */
function mergeCalls(
  first: SessionUpdate,
  second: SessionUpdate,
  known: number | undefined,
  maxBytes: number,
): SizedUpdate | undefined {
  const set = Object.entries(second).filter(([, value]) => value !== null && value !== undefined);
  const fields = { ...first, ...(Object.fromEntries(set) as object) };
  const { sessionUpdate } = first;
  if (first._meta === undefined && second._meta === undefined) {
    return { update: { ...fields, sessionUpdate } };
  }
  const [before, after] = [first._meta, second._meta] as (Meta | undefined)[];
  if (before === undefined || after === undefined) return undefined;
  for (const [name, value] of Object.entries(after)) {
    if (!(name in before) || name === OUTPUT) continue;
    // What is a piece of something is told once, also where the next piece is the same.
    if (name.endsWith("_delta") || !isEqual(before[name], value)) return undefined;
  }
  const output = OUTPUT in before && OUTPUT in after ? joined(before[OUTPUT], after[OUTPUT]) : {};
  const bytes = (known ?? jsonBytes(first)) + jsonBytes(second);
  if (output === undefined || bytes > maxBytes) return undefined;
  return { update: { ...fields, sessionUpdate, _meta: { ...before, ...after, ...output } }, bytes };
}

/** Where `_meta` of a tool call has a piece of what its command puts out. */
export const OUTPUT = "terminal_output_delta";

interface OutputPiece {
  readonly terminal_id?: unknown;
  readonly data?: unknown;
}

function joined(first: unknown, second: unknown): Meta | undefined {
  const [one, other] = [first, second] as OutputPiece[];
  const isSame = one?.terminal_id === other?.terminal_id;
  if (!isSame || typeof one?.data !== "string" || typeof other?.data !== "string") return undefined;
  return { [OUTPUT]: { ...other, data: one.data + other.data } };
}

function jsonBytes(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value));
}

/** The text of an update that carries nothing else. */
function textOf({ sessionUpdate, content }: SessionUpdate): string | undefined {
  if (!TEXTS.has(sessionUpdate)) return undefined;
  const { type, text } = (content ?? {}) as Readonly<Record<string, unknown>>;
  if (type !== "text" || typeof text !== "string") return undefined;
  return Object.keys(content as object).length === 2 ? text : undefined;
}

function withText(update: SessionUpdate, text: string): SessionUpdate {
  return { ...update, content: { type: "text", text } };
}

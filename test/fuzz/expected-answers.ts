import { isUtf8 } from "node:buffer";

/** How many answers are due under each id; those that cannot name one go under `null`. */
export type Tally = Map<string, number>;

/**
 * What JSON-RPC says must be answered in these lines, told in the plainest way. `unclear` are those
 * that are no text but may have been answers, which are not answered themselves.
 */
export function expectedAnswers(bytes: Buffer): { due: Tally; unclear: number } {
  const due: Tally = new Map();
  let unclear = 0;
  for (let at = 0; at < bytes.length;) {
    const newline = bytes.indexOf("\n", at);
    const end = newline < 0 ? bytes.length : newline;
    const line = bytes.subarray(at, end);
    at = end + 1;
    if (!isUtf8(line) && /"(?:result|error)"/.test(line.toString())) unclear++;
    else if (!isUtf8(line)) count(due, null);
    else if (!/^\r?$/.test(line.toString())) expectOf(due, parse(line.toString()));
  }
  return { due, unclear };
}

/** The answers that came. */
export function answersOf(lines: readonly string[]): Tally {
  const came: Tally = new Map();
  for (const line of lines) {
    const answer = JSON.parse(line) as { id: unknown } | { id: unknown }[];
    for (const { id } of Array.isArray(answer) ? answer : [answer]) count(came, id);
  }
  return came;
}

const NOT_JSON = Symbol("not JSON");

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return NOT_JSON;
  }
}

function expectOf(due: Tally, value: unknown): void {
  if (!Array.isArray(value)) {
    expectOne(due, value);
    return;
  }
  if (value.length === 0) count(due, null);
  for (const one of value) expectOne(due, one);
}

function expectOne(due: Tally, value: unknown): void {
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    count(due, null);
    return;
  }
  const { jsonrpc, id, method, result, error } = value as Record<string, unknown>;
  const isAnswer = typeof method !== "string" && (result !== undefined || error !== undefined);
  const isNotification = jsonrpc === "2.0" && typeof method === "string" && id === undefined;
  if (!isAnswer && !isNotification) count(due, id);
}

function count(tally: Tally, id: unknown): void {
  const isId = typeof id === "string" || (typeof id === "number" && Number.isFinite(id));
  const key = isId ? `${typeof id} ${id}` : "null";
  tally.set(key, (tally.get(key) ?? 0) + 1);
}

import { createHash } from "node:crypto";
import { open, readFile } from "node:fs/promises";

import { parsedJson } from "../../../base/check.ts";
import type { SessionLog } from "../../../store/session/session-log.ts";
import { type Direction, lineOf, type Page } from "../../../store/session/session-pages.ts";
import type { SessionEvent } from "../../event.ts";
import { exportedEvents } from "../../turn/exported-events.ts";
import type { SessionEntry } from "../session-commands.ts";
import { refusal } from "./bundle.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Characters of a page of events. */
const PAGE = 96 * 1024;
/** Bytes of all events, which are read at once. */
const LARGEST_LOG = 384 * 1024 * 1024;

/** Writes all events of a session, one on each line. For a share they are without secrets. */
export async function writeEvents(
  log: Pick<SessionLog, "read">,
  id: string,
  path: string,
  isShare: boolean,
): Promise<void> {
  await using file = await open(path, "w", 0o600);
  const entries = isShare ? exportedEvents(entriesOf(log, id)) : entriesOf(log, id);
  for await (const { seq, at, direction, event } of entries) {
    await file.writeFile(lineOf(seq, direction, JSON.stringify(event), Date.parse(at)));
  }
}

async function* entriesOf(log: Pick<SessionLog, "read">, id: string): AsyncGenerator<SessionEntry> {
  for await (const batch of log.read(id)) {
    for (const { seq, at, direction, message } of batch) {
      yield { seq, at: new Date(at).toISOString(), direction, event: message as SessionEvent };
    }
  }
}

/** The SHA-256 of the events that are here, as `readEvents` finds it for as many of those that arrive. */
export async function digestOfEvents(
  log: Pick<SessionLog, "read">,
  id: string,
): Promise<{ readonly last: number; readonly digest: string }> {
  const hash = createHash("sha256");
  let last = 0;
  for await (const { seq, at, direction, event } of entriesOf(log, id)) {
    hash.update(lineOf(seq, direction, JSON.stringify(event), Date.parse(at)));
    last = seq;
  }
  return { last, digest: hash.digest("hex") };
}

export interface ReadEvents {
  readonly pages: readonly Omit<Page, "session">[];
  readonly last: number;
  /** SHA-256 of the first `cut` events. */
  readonly digest: string;
}

/** Reads events that somebody else has written. A page ends after the event with the number `cut`. */
export async function readEvents(path: string, cut: number): Promise<ReadEvents> {
  await using file = await open(path);
  if ((await file.stat()).size > LARGEST_LOG) throw refusal("its conversation is too long");
  const lines = (await readFile(file, "utf8")).split("\n");
  if (lines.pop() !== "") throw refusal("its last event is cut");
  const hash = createHash("sha256");
  const pages: { first: number; last: number; lines: string }[] = [];
  for (const [at, line] of lines.entries()) {
    const seq = at + 1;
    const text = readEvent(line, seq);
    if (seq <= cut) hash.update(text);
    const page = pages.at(-1);
    const isNew = page === undefined || page.lines.length > PAGE || seq === cut + 1;
    if (isNew) pages.push({ first: seq, last: seq, lines: text });
    else Object.assign(page, { last: seq, lines: page.lines + text });
  }
  return { pages, last: lines.length, digest: hash.digest("hex") };
}

function readEvent(line: string, wanted: number): string {
  const value = parsedJson(line);
  const [seq, at, direction, message] = Array.isArray(value) ? (value as unknown[]) : [];
  const isNumbered = seq === wanted && Number.isSafeInteger(at);
  const isSaid = direction === "client" || direction === "agent";
  if (!isNumbered || !isSaid || !isEvent(message)) {
    throw refusal(`its event ${wanted} is none that Trunkline writes`);
  }
  return lineOf(wanted, direction satisfies Direction, JSON.stringify(message), Number(at));
}

/** Whether a value has what everybody relies on who reads an event. */
function isEvent(value: unknown): boolean {
  if (!isObject(value)) return false;
  const { kind, turnId, prompt, by, update, requestId, request, outcome, setting, id } = value;
  const { stopReason } = value;
  switch (kind) {
    case "prompt":
      return areTexts(turnId, by) && Array.isArray(prompt) && prompt.every(isObject);
    case "update":
      return isObject(update) && areTexts(update.sessionUpdate);
    case "permission":
      return areTexts(turnId, requestId) && isObject(request) && Array.isArray(request.options);
    case "answer":
      return areTexts(requestId, by) && isObject(outcome);
    case "setting":
      return areTexts(setting, id);
    case "end":
      return areTexts(turnId, stopReason);
    default:
      return false;
  }
}

function isObject(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function areTexts(...values: readonly unknown[]): boolean {
  return values.every((value) => typeof value === "string");
}

/** Members of the notes that go along. Open questions and permissions do not: they are asked again. */
const KEPT = [
  "model",
  "isTitled",
  "archived",
  "summaryAfter",
  "chosen",
  "memory",
  "moved",
] as const;
const LARGEST_NOTES = 256 * 1024;

export function notesToMove(notes: Fields): Fields {
  return Object.fromEntries(KEPT.flatMap((name) => (name in notes ? [[name, notes[name]]] : [])));
}

const SHAPES: Readonly<Record<(typeof KEPT)[number], (value: unknown) => boolean>> = {
  model: (value) => typeof value === "string",
  isTitled: (value) => value === true,
  archived: (value) => value === true,
  summaryAfter: (value) => Number.isSafeInteger(value),
  chosen: (value) =>
    isObject(value) &&
    [value.modeId ?? "", value.modelId ?? ""].every((id) => typeof id === "string") &&
    isObject(value.configOptions ?? {}),
  memory: isObject,
  moved: (value) => readMoved(value) !== undefined,
};

/** The notes that somebody else has written. */
export function readNotes(given: unknown): Fields {
  if (!isObject(given) || JSON.stringify(given).length > LARGEST_NOTES) {
    throw refusal("its notes are none that Trunkline writes");
  }
  const kept = notesToMove(given);
  const wrong = KEPT.find((name) => name in kept && !SHAPES[name](kept[name]));
  if (wrong !== undefined) throw refusal(`its note '${wrong}' is none that Trunkline writes`);
  return kept;
}

/** What the notes of a session say of its moves. */
export interface Moved {
  /** The folders in which it worked before; its events name them. */
  readonly folders: readonly string[];
  /** Ignored files that go along, as paths from the top of the work tree. */
  readonly carried: readonly string[];
}

export function readMoved(value: unknown): Moved | undefined {
  const { folders, carried } = (value ?? {}) as Partial<Moved>;
  const areAll = (list: unknown): list is string[] =>
    Array.isArray(list) && list.length <= 1_000 && list.every((each) => typeof each === "string");
  return areAll(folders) && areAll(carried) ? { folders, carried } : undefined;
}

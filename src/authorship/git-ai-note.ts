import { hash } from "node:crypto";

import { isObject, objectIn, parsedJson } from "../base/check.ts";
import type { WorkStep } from "./work-history.ts";

/** Git AI's authorship log, "authorship/3.0.0": one for each commit, as a note in `refs/notes/ai`. */
export const NOTES_REF = "refs/notes/ai";

/** Lines of one file that one edit of a session wrote. */
export interface Attestation {
  readonly path: string;
  readonly step: WorkStep;
  /** From 1 on, in ascending order. */
  readonly lines: readonly number[];
}

const SCHEMA = "authorship/3.0.0";
/** The most characters of a note that is read. */
export const LARGEST_NOTE = 4 * 1024 * 1024;

/** The note of a commit, for the tools of Git AI. It has ids, names and line numbers, and no text of anybody. */
export function noteText(commit: string, author: string, found: readonly Attestation[]): string {
  const sessions: Record<string, object> = {};
  const rows: string[] = [];
  for (const [path, here] of Map.groupBy(found, (each) => each.path)) {
    rows.push(/\s/.test(path) ? `"${path}"` : path);
    for (const { step, lines } of here) {
      const { agent: tool = "unknown", session: id = "", model = "unknown", turn, call } = step;
      const key = `s_${keyOf(`${tool}:${id}`)}`;
      sessions[key] = { agent_id: { tool, id, model }, human_author: author };
      rows.push(`  ${key}::t_${keyOf(`${id}:${turn}:${call}`)} ${rangesOf(lines)}`);
    }
  }
  const facts = { schema_version: SCHEMA, base_commit_sha: commit, prompts: {}, sessions };
  return `${rows.join("\n")}\n---\n${JSON.stringify(facts, null, 2)}\n`;
}

/** Whether a note can name a file: the format has no way to write a quote, or a path that looks like its own lines. */
export function canBeNoted(path: string): boolean {
  return !/["\\\p{Cc}]|^---$/u.test(path);
}

function keyOf(text: string): string {
  return hash("sha256", text).slice(0, 14);
}

function rangesOf(lines: readonly number[]): string {
  const ranges: [number, number][] = [];
  for (const line of lines) {
    const last = ranges.at(-1);
    if (last?.[1] === line - 1) last[1] = line;
    else ranges.push([line, line]);
  }
  return ranges.map(([from, to]) => (from === to ? from : `${from}-${to}`)).join(",");
}

/** The lines that a note attributes to agents. Notes are untrusted: what has neither form is skipped. */
export function parseNote(text: string): Attestation[] {
  const at = text.search(/^---$/m);
  if (at < 0) return [];
  const metadata = objectIn(text.slice(at + 4)) ?? {};
  const found: Attestation[] = [];
  let path = "";
  let left = MOST_LINES;
  for (const row of text.slice(0, at).split("\n")) {
    if (!/^\s/.test(row)) {
      path = unquoted(row);
      continue;
    }
    const [, key = "", edit, ranges = ""] = /^\s+([\w]+)(?:::(\w+))? ([\d,-]+)\s*$/.exec(row) ?? [];
    const step = stepIn(metadata, key, edit);
    const lines = linesIn(ranges, left);
    left -= lines.length;
    if (step !== undefined && lines.length > 0) found.push({ path, step, lines });
  }
  return found;
}

/** `s_…` is in `sessions`, 16 digits without a prefix are the old form, in `prompts`; `h_…` is a person. */
function stepIn(
  { sessions, prompts }: Record<string, unknown>,
  key: string,
  call: string | undefined,
): WorkStep | undefined {
  const list = key.startsWith("s_") ? sessions : prompts;
  const entry = isObject(list) ? list[key] : undefined;
  if (!isObject(entry) || !isObject(entry["agent_id"])) return undefined;
  const { tool, id, model } = entry["agent_id"];
  const session = String(id);
  return { by: "agent", session, agent: String(tool), model: String(model), call };
}

/** More lines than any commit has; a hostile note must not fill the memory. */
const MOST_LINES = 1_000_000;

function linesIn(ranges: string, most: number): number[] {
  const lines: number[] = [];
  for (const range of ranges.split(",")) {
    const [from = Number.NaN, to = from] = range.split("-").map(Number);
    if (!(to >= from) || lines.length + to - from >= most) continue;
    for (let line = from; line <= to; line++) lines.push(line);
  }
  return lines;
}

/** Paths with spaces are quoted. */
function unquoted(row: string): string {
  const path = row.startsWith('"') ? parsedJson(row) : undefined;
  return typeof path === "string" ? path : row;
}

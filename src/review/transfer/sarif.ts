import { createHash } from "node:crypto";
import { pathToFileURL } from "node:url";

import { TrunklineError } from "../../base/errors.ts";
import type { Severity } from "../../store/review/review-thread.ts";
import type { ThreadView } from "../thread-view.ts";
import { THREAD_ID } from "./transfer.ts";

/** SARIF 2.1.0: what analysers report and code hosts show. */
const SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json";
const ROOT = "SRCROOT";

/** The fingerprint that holds the thread's id, to recognise it in an import. */
const THREAD = "trunklineThread/v1";

const LEVELS: Readonly<Record<string, string>> = {
  must: "error",
  should: "warning",
  nit: "note",
  question: "note",
};

export function toSarif(threads: readonly ThreadView[], root: string, version: string): string {
  const rules = Object.entries(LEVELS).map(([severity, level]) => ({
    id: `review/${severity}`,
    shortDescription: { text: `A reviewer's comment: ${severity}` },
    defaultConfiguration: { level },
  }));
  const log = {
    $schema: SCHEMA,
    version: "2.1.0",
    runs: [
      {
        tool: { driver: { name: "Trunkline", version, rules } },
        originalUriBaseIds: { [ROOT]: { uri: pathToFileURL(`${root}/`).href } },
        results: threads.map(resultOf),
      },
    ],
  };
  return `${JSON.stringify(log, null, 2)}\n`;
}

function resultOf(thread: ThreadView): object {
  const { id, severity, comment, file, line, end, quote, state, suggestion } = thread;
  const artifactLocation = {
    uri: file.split("/").map(encodeURIComponent).join("/"),
    uriBaseId: ROOT,
  };
  const region = line === undefined ? undefined : { startLine: line, endLine: end ?? line };
  const snippet = quote === undefined ? {} : { snippet: { text: quote.join("\n") } };
  return {
    ruleId: `review/${severity}`,
    level: LEVELS[severity],
    message: { text: comment },
    locations: [
      {
        physicalLocation: {
          artifactLocation,
          ...(region === undefined ? {} : { region: { ...region, ...snippet } }),
        },
      },
    ],
    partialFingerprints: { [THREAD]: id },
    properties: { state, confidence: thread.confidence, by: thread.by, at: thread.at },
    ...(state === "resolved" ? { suppressions: [{ kind: "external", status: "accepted" }] } : {}),
    ...(suggestion === undefined || region === undefined
      ? {}
      : { fixes: [fixOf(suggestion, artifactLocation, region)] }),
  };
}

/** Whole lines: up to the first column of the next line (SARIF 2.1.0 § 3.30). */
function fixOf(
  lines: readonly string[],
  artifactLocation: object,
  { startLine, endLine }: { startLine: number; endLine: number },
): object {
  const text = lines.map((line) => `${line}\n`).join("");
  const deletedRegion = { startLine, startColumn: 1, endLine: endLine + 1, endColumn: 1 };
  return {
    description: { text: "The reviewer's suggestion" },
    artifactChanges: [
      { artifactLocation, replacements: [{ deletedRegion, insertedContent: { text } }] },
    ],
  };
}

/** One result of an analyser. */
export interface Finding {
  /** The id of the thread, if Trunkline wrote the file. */
  readonly id?: string;
  readonly file: string;
  readonly line?: number;
  readonly end?: number;
  readonly comment: string;
  readonly severity: Severity;
  /** The analyser. */
  readonly by: string;
  /** The same for the same finding. */
  readonly fingerprint: string;
}

export function isSarif(value: object): boolean {
  return Array.isArray((value as { runs?: unknown }).runs);
}

/** The level of each rule, by its id. */
type Levels = ReadonlyMap<string | undefined, string | undefined>;

type Loose = { readonly [key: string]: Loose | undefined } & { readonly [index: number]: Loose };

/** The results in a SARIF file that are about a file. */
export function readSarif(value: object): Finding[] {
  const { version = "2.1.0", runs } = value as { version?: unknown; runs: Loose[] };
  if (!String(version).startsWith("2.1")) {
    const what = `Cannot import SARIF ${String(version)}`;
    throw new TrunklineError("config", `${what}: only 2.1.0 is supported.`);
  }
  return runs.flatMap((run) => {
    const driver = run?.["tool"]?.["driver"];
    const by = text(driver?.["name"]) ?? "SARIF";
    const levels = new Map(
      list(driver?.["rules"]).map((rule) => [
        text(rule["id"]),
        text(rule["defaultConfiguration"]?.["level"]),
      ]),
    );
    return list(run?.["results"]).flatMap((result) => findingOf(result, levels, by) ?? []);
  });
}

function findingOf(result: Loose, levels: Levels, by: string): Finding | undefined {
  const physical = list(result["locations"])[0]?.["physicalLocation"];
  const file = pathOf(text(physical?.["artifactLocation"]?.["uri"]));
  const said = text(result["message"]?.["text"]) ?? text(result["message"]?.["markdown"]);
  if (file === undefined || said === undefined || said.trim() === "") return undefined;
  if (list(result["suppressions"]).length > 0) return undefined;
  const rule = text(result["ruleId"]) ?? text(result["rule"]?.["id"]);
  const line = lineOf(physical?.["region"]?.["startLine"]);
  const end = lineOf(physical?.["region"]?.["endLine"]) ?? line;
  const comment = rule === undefined || rule.startsWith("review/") ? said : `${said} (${rule})`;
  const id = text(result["partialFingerprints"]?.[THREAD]);
  const whole = [by, rule ?? "", file, line ?? "", said].join("|");
  return {
    ...(id !== undefined && THREAD_ID.test(id) ? { id } : {}),
    file,
    ...(line === undefined || end === undefined ? {} : { line, end: Math.max(line, end) }),
    comment,
    severity: severityOf(result, levels, rule),
    by,
    fingerprint: createHash("sha256").update(whole).digest("hex"),
  };
}

function severityOf(result: Loose, levels: Levels, rule: string | undefined): Severity {
  const level = text(result["level"]) ?? levels.get(rule);
  const own = /^review\/(must|should|nit|question)$/.exec(rule ?? "")?.[1];
  if (own !== undefined) return own as Severity;
  if (level === "error") return "must";
  return level === "note" || level === "none" ? "nit" : "should";
}

function pathOf(uri: string | undefined): string | undefined {
  if (uri === undefined || uri === "") return undefined;
  try {
    return decodeURIComponent(uri.startsWith("file://") ? new URL(uri).pathname : uri);
  } catch {
    return uri;
  }
}

function lineOf(value: unknown): number | undefined {
  return Number.isSafeInteger(value) && (value as number) >= 1 ? (value as number) : undefined;
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function list(value: unknown): Loose[] {
  if (!Array.isArray(value)) return [];
  return value.filter((each): each is Loose => typeof each === "object" && each !== null);
}

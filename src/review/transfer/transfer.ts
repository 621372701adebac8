import { createHash } from "node:crypto";
import { pathToFileURL } from "node:url";
import { attempt } from "../../base/attempt.ts";
import { describeProblem } from "../../base/check.ts";
import { defined } from "../../base/defined.ts";
import { TrunklineError } from "../../base/errors.ts";
import { isRepositoryPath } from "../../base/file/repository-path.ts";
import type { Severity, ThreadEvent } from "../../store/review/review-thread.ts";
import type { Reviews } from "../../store/review/reviews.ts";
import type { NewThread, PastEvent, ThreadFilter } from "../../store/review/reviews-rows.ts";
import { blobId } from "../anchor/file-text.ts";
import { checkTransferredThread, type TransferredThread } from "../../store/schema.gen.ts";
import type { ThreadView } from "../thread-view.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { VERSION } from "../../base/version.ts";
import type { ReviewCommands } from "../review-commands.ts";
import { type NewComment, threadMaker } from "../add-comment.ts";
import { recogniseRepository } from "../moved.ts";
import {
  isGitHubComments,
  isGitLabDiscussions,
  lineIn,
  readGitHubComments,
  readGitLabDiscussions,
} from "./remote-thread.ts";
import { type ImportResult, importRemote } from "./import-remote.ts";

/** The export format: threads with their replies and texts. */
interface TransferFile {
  readonly format: typeof FORMAT;
  readonly version: 1;
  readonly threads: readonly TransferredThread[];
}

const FORMAT = "trunkline-review";

/** The form of a thread id in an import. */
export const THREAD_ID = /^[0-9a-z]{2,40}$/;

export async function exportThreads(reviews: Reviews, filter: ThreadFilter): Promise<string> {
  const threads: TransferredThread[] = [];
  for (const thread of await reviews.list(filter)) {
    const { id, state, severity, comment, by, at, source, anchor, suggestion } = thread;
    const [, ...events] = await reviews.history(id);
    const text = anchor.blob === undefined ? undefined : await reviews.text(anchor.blob);
    threads.push({
      ...{ id, state, severity, comment, by, at, source, anchor, ...defined({ suggestion }) },
      events: events.map(past),
      ...defined({ text: text && Buffer.from(text).toString("base64") }),
    });
  }
  const transfer: TransferFile = { format: FORMAT, version: 1, threads };
  return `${JSON.stringify(transfer, null, 2)}\n`;
}

/** An event without its sequence number, which means nothing in another store. */
function past(event: ThreadEvent): PastEvent {
  const { seq: _seq, ...rest } = event;
  return rest;
}

export function isTransfer(value: object): boolean {
  return (value as Partial<TransferFile>).format === FORMAT;
}

/** The threads in an import, and why others are none. */
export function readTransfer(value: object, repository: NewThread["repository"]) {
  const { version, threads } = value as { version?: unknown; threads?: unknown };
  if (version !== 1) throw problem(`its version is ${String(version)}, not 1`);
  if (!Array.isArray(threads)) throw problem("it has no list of threads");
  const refused: string[] = [];
  const good = threads.flatMap((thread: unknown, index): NewThread[] => {
    const wrong = faultOf(thread, `threads[${index}]`);
    if (wrong !== undefined) {
      refused.push(problem(wrong).message);
      return [];
    }
    const { events, state, text, ...rest } = thread as TransferredThread;
    const content = text === undefined ? undefined : Buffer.from(text, "base64");
    return [{ ...rest, repository, content, past: { state, events } }];
  });
  return { threads: good, refused };
}

function faultOf(thread: unknown, name: string): string | undefined {
  const wrong = checkTransferredThread(thread);
  if (wrong !== undefined) return describeProblem(name, wrong);
  const { id, events, text, anchor } = thread as TransferredThread;
  if (!THREAD_ID.test(id)) return `'${name}.id' is not that of a thread`;
  if (!isRepositoryPath(anchor.path)) return `'${name}.anchor.path' leads out of the repository`;
  // The thread itself says how it was opened.
  if (events.some(({ kind }) => kind === "opened")) return `'${name}.events' open it a second time`;
  // Texts are shared by blob id, so the id must be right.
  const isRight = text === undefined || blobId(Buffer.from(text, "base64")) === anchor.blob;
  return isRight ? undefined : `'${name}.text' is not that of its blob`;
}

function problem(why: string): TrunklineError {
  return new TrunklineError("config", `Cannot import the threads: ${why}.`);
}

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
    ...defined({ fixes: region && suggestion && [fixOf(suggestion, artifactLocation, region)] }),
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

/** One result of an analyser, with the id of its thread if Trunkline wrote the file. */
export type AnalyserFinding = Omit<NewComment, "source">;

export function isSarif(value: object): boolean {
  return Array.isArray((value as { runs?: unknown }).runs);
}

/** Findings after which an import says how far it is. */
const STEP = 1_000;

/** The level of each rule, by its id. */
type RuleLevels = ReadonlyMap<string | undefined, string | undefined>;

type LooseJson = { readonly [key: string]: LooseJson | undefined } & {
  readonly [index: number]: LooseJson;
};

/** The results in a SARIF file that are about a file. */
export function readSarif(value: object): AnalyserFinding[] {
  const { version = "2.1.0", runs } = value as { version?: unknown; runs: LooseJson[] };
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

function findingOf(result: LooseJson, levels: RuleLevels, by: string): AnalyserFinding | undefined {
  const physical = list(result["locations"])[0]?.["physicalLocation"];
  const file = pathOf(text(physical?.["artifactLocation"]?.["uri"]));
  const said = text(result["message"]?.["text"]) ?? text(result["message"]?.["markdown"]);
  if (file === undefined || said === undefined || said.trim() === "") return undefined;
  if (list(result["suppressions"]).length > 0) return undefined;
  const rule = text(result["ruleId"]) ?? text(result["rule"]?.["id"]);
  const line = lineIn(physical?.["region"]?.["startLine"]);
  const end = lineIn(physical?.["region"]?.["endLine"]) ?? line;
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

function severityOf(result: LooseJson, levels: RuleLevels, rule: string | undefined): Severity {
  const level = text(result["level"]) ?? levels.get(rule);
  const own = /^review\/(must|should|nit|question)$/.exec(rule ?? "")?.[1];
  if (own !== undefined) return own as Severity;
  if (level === "error") return "must";
  return level === "note" || level === "none" ? "nit" : "should";
}

function pathOf(uri: string | undefined): string | undefined {
  if (uri === undefined || uri === "") return undefined;
  return attempt(
    () => decodeURIComponent(uri.startsWith("file://") ? new URL(uri).pathname : uri),
    uri,
  );
}

function text(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

function list(value: unknown): LooseJson[] {
  if (!Array.isArray(value)) return [];
  return value.filter((each): each is LooseJson => typeof each === "object" && each !== null);
}

export async function exportReviews(
  commands: ReviewCommands,
  format: "json" | "sarif",
): Promise<string> {
  const { gitDir, root } = commands.here;
  if (format === "json") return exportThreads(commands.reviews, { gitDir });
  return toSarif(await commands.list({ gitDir }), root, VERSION);
}

/**
 * Imports threads that another Trunkline exported, an analyser's SARIF, or what an API of GitHub or
 * GitLab answered.
 */
export async function importReviews(
  commands: ReviewCommands,
  text: string,
  progress: (done: number, of: number) => void = () => {},
): Promise<ImportResult> {
  const value = parsed(text);
  if (isTransfer(value)) {
    const repository = await recogniseRepository(commands.reviews, commands.here);
    const { threads, refused } = readTransfer(value, repository);
    return outcomeOf(commands, await commands.reviews.addAll(threads), refused);
  }
  if (isGitHubComments(value)) return importRemote(commands, readGitHubComments(value), "github");
  if (isGitLabDiscussions(value)) {
    return importRemote(commands, readGitLabDiscussions(value), "gitlab");
  }
  if (!isSarif(value)) {
    const why =
      "it is neither what `trunkline review export` writes, nor SARIF, nor review comments of " +
      "GitHub or discussions of GitLab";
    throw new TrunklineError("config", `Cannot import the file: ${why}.`);
  }
  const { reviews, here, folder } = commands;
  const make = threadMaker(reviews, here, folder);
  const threads: NewThread[] = [];
  const refused: string[] = [];
  const findings = readSarif(value);
  for (const [done, finding] of findings.entries()) {
    if (done > 0 && done % STEP === 0) progress(done, findings.length);
    try {
      threads.push(await make({ ...finding, source: "sarif" }));
    } catch (error) {
      if (!(error instanceof TrunklineError)) throw error;
      refused.push(error.message);
    }
  }
  return outcomeOf(commands, await reviews.addAll(threads), refused);
}

/** A thread is in one repository: that of another clone on this machine is not imported a second time. */
async function outcomeOf(
  { reviews, here }: ReviewCommands,
  all: Awaited<ReturnType<Reviews["addAll"]>>,
  refused: readonly string[],
): Promise<ImportResult> {
  const old = await Promise.all(all.filter(({ isNew }) => !isNew).map(({ id }) => reviews.get(id)));
  const elsewhere = old.filter(({ repository }) => repository.gitDir !== here.gitDir);
  const why = elsewhere.map((each) => `Thread ${each.id} is in ${each.repository.root} already.`);
  const [added, known] = [all.length - old.length, old.length - elsewhere.length];
  return { added, known, refused: [...refused, ...why] };
}

function parsed(text: string): object {
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value === "object" && value !== null) return value;
  } catch (error) {
    const why = `it is not JSON (${visibleLine((error as Error).message)})`;
    throw new TrunklineError("config", `Cannot import the file: ${why}.`, { cause: error });
  }
  throw new TrunklineError("config", "Cannot import the file: it is not a JSON object.");
}

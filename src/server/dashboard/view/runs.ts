import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { defined } from "../../../base/defined.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { maskText } from "../../../base/text/mask.ts";
import { shellWord } from "../../../base/text/shell-word.ts";
import { partsOfPatch } from "../../../base/text/patch-names.ts";
import { readFacts } from "../../../run/workspace/workspace-facts.ts";
import type { Principal } from "../../../base/principal.ts";
import { isPlan, patchOf, type RunPlan } from "../../../run/run-plan.ts";
import type { SessionEvent } from "../../../session/event.ts";
import type { ReadSession } from "../../../store/session/session-reader.ts";
import type { Page, RunDetail, RunPatch, RunRow } from "../api.ts";
import {
  type ApiCall,
  type ApiRoute,
  numberIn,
  route,
} from "../../../base/capability/api-route.ts";
import type { FileDiff, SessionRow } from "../session-api.ts";
import { shown } from "../session/changed-files.ts";
import { progressOf, type SessionDigest } from "../session/session-digest.ts";
import { onlyOwner } from "../../../store/session/session-reader.ts";
import type { SessionRows } from "../session/session-rows.ts";

const MOST_ROWS = 500;
/** Events in which messages about the progress of a run are looked for. */
const MOST_EVENTS = 5_000;

/** Remote runs: the sessions that work on a revision of a repository. */
export function runRoutes(sessions: SessionRows, read: ReadRun) {
  const routes: readonly ApiRoute[] = [
    route("GET /api/runs", "nothing", page),
    route("GET /api/runs/:id", "nothing", detail),
    route("GET /api/runs/:id/patch", "nothing", patch),
    route("GET /api/runs/:id/diff", "nothing", diff),
  ];

  async function row(session: ReadSession): Promise<RunRow> {
    const { id, title, agent, created, updated, last } = session;
    const digest = await sessions.digests.of(session);
    const { url, branch, revision, target } = planOf(session);
    const { pushed, pullRequest, progress } = digest;
    const from = [maskText(url), target].map(shellWord);
    const [, position] = QUEUED.exec(progress ?? "") ?? [];
    const stage = stageOf(sessions.rowWith(session, digest), digest);
    return defined<RunRow>({
      ...{ id, branch, revision, target, pushed, pullRequest, stage },
      ...{ agent, created, updated, last },
      title: title === undefined ? undefined : maskText(title),
      repository: maskText(url),
      fetch: pushed === undefined ? undefined : `git fetch ${from.join(" ")}`,
      position: stage === "queued" ? Number(position) : undefined,
      says: progress === undefined ? undefined : maskText(progress),
      cost: digest.cost,
    });
  }

  async function page({ principal, query }: ApiCall): Promise<Page<RunRow>> {
    const limit = numberIn(query, "limit", { least: 1, most: MOST_ROWS, usual: 100 });
    const request = { cursor: query.get("cursor") ?? undefined, limit, runsOnly: true };
    const { sessions: listed, ...next } = await sessions.listed(principal, request);
    return { rows: await Promise.all(listed.map(row)), ...next };
  }

  async function detail(call: RunCall): Promise<RunDetail> {
    const session = await need(call);
    const log = await logOf(session);
    // Only of this repository, since agents can send such messages, too.
    const [, failed] = SETUP.exec(log.findLast(({ says }) => SETUP.test(says))?.says ?? "") ?? [];
    const { patch: text = "", setup, missing } = await read(session.id, planOf(session), failed);
    const files = filesIn(text);
    return defined<RunDetail>({ row: await row(session), log, files, setup, missing });
  }

  async function patch(call: RunCall): Promise<RunPatch> {
    const session = await need(call);
    const { patch: text, missing = NO_WORKSPACE } = await read(session.id, planOf(session));
    if (text !== undefined) return { patch: text };
    throw new TrunklineError("not-found", missing);
  }

  async function diff(call: ApiCall): Promise<FileDiff> {
    const path = call.query.get("path");
    const { patch: text } = await patch(call);
    if (path === null) return shown("", text);
    const part = partsOfPatch(text).find((each) => each.path === path);
    if (part !== undefined) return shown(path, part.text);
    throw new TrunklineError("not-found", `The run has not changed '${path.slice(0, 200)}'.`);
  }

  async function need({ principal, id }: RunCall): Promise<ReadSession> {
    const session = await sessions.need(principal, await whole(principal, id));
    if (session.notes.run !== undefined) return session;
    throw new TrunklineError("not-found", `Session '${id}' is not a remote run.`);
  }

  /** The id of the only run of the latest that begins like this. */
  async function whole(principal: Principal, id: string): Promise<string> {
    if (WHOLE_ID.test(id)) return id;
    const shown = id.slice(0, 64);
    if (!SHORT_ID.test(id)) {
      const form = "it is that of its session, such as 0b9e4c1d-…, or its first 8 characters";
      throw new TrunklineError("usage", `'${shown}' is not the id of a run: ${form}.`);
    }
    const owner = onlyOwner(principal);
    const latest = await sessions.reader.list({ owner, runsOnly: true, limit: MOST_ROWS });
    const [only, ...others] = latest.filter((session) => session.id.startsWith(id));
    if (only !== undefined && others.length === 0) return only.id;
    const found = only === undefined ? "No run begins" : "Several runs begin";
    const next = "`trunkline session list` shows their ids";
    throw new TrunklineError("not-found", `${found} with '${shown}'. ${next}.`);
  }

  async function logOf({ id, last }: ReadSession): Promise<RunDetail["log"]> {
    const log: { at: number; says: string }[] = [];
    let before = last + 1;
    for (let read = 0; read < MOST_EVENTS && before > 1;) {
      const events = await sessions.reader.eventsBefore(id, before, MOST_EVENTS);
      if (events.length === 0) break;
      read += events.length;
      before = events[0]?.seq ?? 1;
      const lines = events.flatMap(({ at, message }) => {
        const event = message as SessionEvent;
        const says = event.kind === "update" ? progressOf(event.update) : undefined;
        return says === undefined ? [] : [{ at, says: maskText(says) }];
      });
      log.unshift(...lines);
    }
    return log;
  }

  return { routes, row, detail, patch };
}

/** The files of a run, or why they cannot be read. */
export interface RunFiles {
  readonly patch?: string | undefined;
  /** The log of the set-up that failed. */
  readonly setup?: string | undefined;
  readonly missing?: string | undefined;
}

export type ReadRun = (session: string, plan: RunPlan, setup?: string) => Promise<RunFiles>;

/** Reads runs of this machine. */
export function runsOn(data: string): ReadRun {
  const folder = join(data, "run");
  return async (_session, plan, setup) => {
    const patch = await patchOf(folder, plan).catch(() => undefined);
    const missing = patch === undefined ? NO_WORKSPACE : undefined;
    const facts = await readFacts(join(folder, "work", plan.workspace)).catch(() => undefined);
    const isSetup = setup !== undefined && /^[0-9a-f]+-[0-9a-f]+$/.test(setup);
    if (!isSetup || facts === undefined) return { patch, missing };
    const path = join(folder, "layers", facts.repository, `${setup}.log`);
    const text = await readFile(path, "utf8").catch(() => "");
    return { patch, missing, setup: maskText(text.slice(-LONGEST_LOG)) };
  };
}

/** Who asks for which run. */
export type RunCall = Pick<ApiCall, "principal" | "id">;

const NO_WORKSPACE = "Its workspace does not exist yet, or was removed.";
const WHOLE_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const SHORT_ID = /^[0-9a-f]{8}[0-9a-f-]{0,27}$/;
/** The message of a session whose set-up has failed (src/run/environment). */
const SETUP = /\(set-up ([0-9a-f]+-[0-9a-f]+)\)\.?$/;
const LONGEST_LOG = 256 * 1024;

function planOf({ notes, id }: ReadSession): RunPlan {
  if (isPlan(notes.run)) return notes.run;
  throw new TrunklineError("not-found", `Session '${id}' is not a remote run.`);
}

/** The message of `src/run` to clients; the log of a session has nothing else about the stage. */
const QUEUED = /^Waiting for a free slot: position (\d+) in the queue/;
const FAILED = /^(?:Not pushed\.|The workspace could not be prepared)/;

function stageOf(
  { state, ended }: SessionRow,
  { progress = "", isWorking, pushed }: SessionDigest,
): RunRow["stage"] {
  if (state === "waiting") return state;
  if (state === "running") {
    if (isWorking) return "working";
    return QUEUED.test(progress) ? "queued" : "preparing";
  }
  if (ended === "interrupted" || FAILED.test(progress)) return "failed";
  return pushed === undefined ? "idle" : "pushed";
}

function filesIn(patch: string): RunDetail["files"] {
  return partsOfPatch(patch).map(({ path, body }) => {
    const count = (mark: string): number => body.filter((line) => line.startsWith(mark)).length;
    return { path, added: count("+"), removed: count("-") };
  });
}

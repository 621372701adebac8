import { keepNewest } from "../../../base/limit/eviction.ts";
import { basename, join } from "node:path";
import { atMost } from "../../../base/abort.ts";
import { attempt } from "../../../base/attempt.ts";
import { defined } from "../../../base/defined.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { readRegularFile } from "../../../base/file/read-regular-file.ts";
import type { Principal } from "../../../base/principal.ts";
import { maskText, maskWords } from "../../../base/text/mask.ts";
import { findRepository } from "../../../review/repository.ts";
import type { OpenQuestion } from "../../../session/client/questions.ts";
import { workingFolder } from "../../../session/workplace.ts";
import {
  maySeeSession,
  onlyOwner,
  type ReadSession,
  type SessionReading,
} from "../../../store/session/session-reader.ts";
import type { Page } from "../api.ts";
import type { AskRow, SessionRow } from "../session-api.ts";
import { type PendingRequest, type SessionDigest, digestsOf, mayAsk } from "./session-digest.ts";

export interface SessionRowsOptions {
  readonly reader: SessionReading;
  /** The id of this process as a holder of sessions. */
  readonly holder: () => string | undefined;
  /** The names of tokens, by the id of their principal. */
  readonly nameOf: (owner: string) => string;
  readonly identityOf: IdentityOf;
}

export interface RowsRequest {
  readonly cursor?: string | undefined;
  readonly limit: number;
  readonly runsOnly?: boolean;
}

export type SessionRows = ReturnType<typeof sessionRowsOf>;

/** Sessions as rows: what is stored of them, and what their events say. */
export function sessionRowsOf(options: SessionRowsOptions) {
  const { reader } = options;
  const identities = sessionIdentities(options.identityOf);
  const digests = digestsOf(reader);

  /** A page of rows: on the first one those that wait for a person come first, then by last use. */
  async function page(principal: Principal, request: RowsRequest): Promise<Page<SessionRow>> {
    const { sessions, ...next } = await listed(principal, request);
    const rows = request.cursor === undefined ? await waiting(principal) : [];
    const isWaiting = new Set(rows.map(({ id }) => id));
    const others = sessions.filter(({ id }) => !isWaiting.has(id));
    await identities.look(others.filter(isLocal));
    for (const session of others) rows.push(await row(session, { looks: false }));
    return { rows, ...next };
  }

  /** A page of the sessions that a principal may see, by last use, with the cursor of the next page. */
  async function listed(
    principal: Principal,
    { cursor, limit, runsOnly }: RowsRequest,
  ): Promise<{ readonly sessions: readonly ReadSession[]; readonly next?: string }> {
    const after = cursor === undefined ? undefined : readCursor(cursor);
    const owner = onlyOwner(principal);
    const found = await reader.list({ owner, runsOnly, after, limit: limit + 1 });
    const last = found.length > limit ? found[limit - 1] : undefined;
    return {
      sessions: found.slice(0, limit).filter((session) => maySeeSession(principal, session)),
      ...(last === undefined ? {} : { next: `${last.updated}.${last.id}` }),
    };
  }

  /** The sessions that wait for a person, longest first. */
  async function waiting(principal: Principal): Promise<SessionRow[]> {
    const rows: SessionRow[] = [];
    for (const session of await reader.held()) {
      if (!mayAsk(session.notes) || !maySeeSession(principal, session)) continue;
      const found = await row(session);
      if (found.state === "waiting") rows.push(found);
    }
    return rows.toSorted((a, b) => (a.waiting?.since ?? 0) - (b.waiting?.since ?? 0));
  }

  /** A session that a principal may see. Throws "not-found" for any other. */
  async function need(principal: Principal, id: string): Promise<ReadSession> {
    const session = await reader.find(id);
    if (session !== undefined && maySeeSession(principal, session)) return session;
    throw new TrunklineError("not-found", `There is no session '${id.slice(0, 64)}'.`);
  }

  async function row(session: ReadSession, { looks = true } = {}): Promise<SessionRow> {
    if (looks && isLocal(session)) await identities.look([session]);
    return rowWith(session, await digests.of(session));
  }

  function rowWith(session: ReadSession, digest: SessionDigest): SessionRow {
    const { id, title, cwd, agent, created, updated, parent, notes, last, holder } = session;
    const { owner, run, turn, model: found } = notes;
    const isRunning = holder !== undefined && typeof turn === "string";
    const asks = holder === undefined ? undefined : waitingFor(digest.asked(session), notes);
    // A process that died has not recorded the end of its turn: whoever opens the session next does.
    const left = typeof turn === "string" ? "interrupted" : undefined;
    const state = asks !== undefined ? "waiting" : isRunning ? "running" : "idle";
    const chosen = (notes.chosen ?? {}) as { modelId?: string; modeId?: string };
    // Equal rows have equal texts.
    return defined<SessionRow>({
      id,
      title: title === undefined ? undefined : maskText(title),
      state,
      waiting: asks,
      ended: isRunning ? undefined : (digest.ended ?? left),
      agent,
      model: digest.model ?? chosen.modelId ?? (typeof found === "string" ? found : undefined),
      mode: digest.mode ?? chosen.modeId,
      client: digest.client,
      cwd,
      ...(run === undefined ? placeOf(workingFolder(session)) : runPlace(run)),
      context: digest.context,
      cost: digest.cost,
      created,
      updated,
      last,
      open: holder === undefined ? "no" : holder === options.holder() ? "here" : "elsewhere",
      parent,
      isRun: run !== undefined,
      identity: isLocal(session) ? identities.of(session) : undefined,
      owner: typeof owner === "string" && owner !== "" ? options.nameOf(owner) : undefined,
    });
  }

  return { reader, digests, page, listed, waiting, need, row, rowWith };
}

/** A remote run has an identity of its own, which its plan decides. */
function isLocal({ notes }: ReadSession): boolean {
  return notes.run === undefined;
}

/** The permission or question that was asked first and is not answered. */
function waitingFor(
  [first]: readonly PendingRequest[],
  { turn, question }: ReadSession["notes"],
): SessionRow["waiting"] {
  if (first !== undefined) {
    const { title, toolCallId } = first.request.toolCall;
    const says = maskText(typeof title === "string" ? title : toolCallId);
    return { for: "permission", says, since: first.at };
  }
  const { turn: askedIn, message, since } = (question ?? {}) as Partial<OpenQuestion>;
  // A process that died may have left a question of an earlier turn.
  if (since === undefined || askedIn !== turn) return undefined;
  return { for: "question", says: maskText(message ?? "The agent asks something"), since };
}

/** A pending permission as a question to a person: whole, but for secrets. */
export function askOf({ requestId, at, request }: PendingRequest): AskRow {
  const { toolCall, options } = request;
  const shown = maskWords(toolCall) as NonNullable<AskRow["toolCall"]>;
  // An agent may name what it would always do. Ids stay as they are: they come back with the answer.
  const named = options.map((each) => ({ ...each, name: maskWords(each.name) as string }));
  return { id: requestId, kind: "permission", at, toolCall: shown, options: named };
}

function runPlace(run: unknown): { repository?: string; branch?: string } {
  const { url, target } = run as { url?: unknown; target?: unknown };
  return defined({
    repository: typeof url === "string" ? maskText(url) : undefined,
    branch: typeof target === "string" ? target : undefined,
  });
}

/** Names the last session of a page, not a count: sessions used since then have moved to the front. */
function readCursor(cursor: string): { updated: number; id: string } {
  const [, updated, id] = /^(\d{1,15})\.([0-9a-f-]{36})$/.exec(cursor) ?? [];
  if (updated !== undefined && id !== undefined) return { updated: Number(updated), id };
  throw new TrunklineError("usage", `'${cursor.slice(0, 64)}' is not a cursor of this list.`);
}

const LARGEST_HEAD = 4_096;

/** Reads the repository and the branch of a folder from its files. */
function placeOf(folder: string): ReturnType<typeof runPlace> {
  // A folder that cannot be read has no repository to show.
  const place = attempt(() => {
    const found = findRepository(folder);
    if (found === undefined) return {};
    const repository = basename(found.root);
    const head = readRegularFile(join(found.worktreeGitDir, "HEAD"), { most: LARGEST_HEAD });
    const [, branch] = /^ref: refs\/heads\/(.+)$/m.exec(head?.toString("utf8") ?? "") ?? [];
    return defined({ repository, branch });
  });
  return place ?? {};
}

/** The name of the identity that an agent acts as in a folder. */
type IdentityOf = (agent: string, cwd: string) => Promise<string | undefined>;

type Place = Pick<ReadSession, "agent" | "cwd">;

/** Milliseconds for which a name is cached, and for which a request waits for a new one. */
const FRESH = 30_000;
const PATIENCE = 300;
const MOST = 1_000;

/**
 * The identities that the agents of sessions act as. Finding one starts several git processes, so folders
 * are looked up one after the other, and requests wait only a moment for them.
 */
export function sessionIdentities(identityOf: IdentityOf) {
  /** With when it was looked up; undefined while that is still to be done. */
  const known = new Map<string, { name: string | undefined; at: number | undefined }>();
  let work: Promise<void> = Promise.resolve();
  /** As far as it is known. */
  const of = (place: Place): string | undefined => known.get(keyOf(place))?.name;

  /** Looks up the unknown ones of these places. Resolves when that is done, or takes long. */
  async function look(places: readonly Place[]): Promise<void> {
    const old = places.filter((place) => !isFresh(place));
    if (old.length === 0) return;
    for (const place of old) begin(place);
    await atMost(PATIENCE, work);
  }

  function isFresh(place: Place): boolean {
    const last = known.get(keyOf(place));
    return last !== undefined && (last.at === undefined || performance.now() - last.at < FRESH);
  }

  function begin(place: Place): void {
    const key = keyOf(place);
    if (isFresh(place)) return;
    // The former name is shown until the new one is known.
    known.set(key, { name: of(place), at: undefined });
    work = work.then(async () => {
      // Where it cannot be found, such as in a folder that was removed, there is none to show.
      const name = await identityOf(place.agent, place.cwd).catch(() => undefined);
      known.delete(key);
      known.set(key, { name, at: performance.now() });
      keepNewest(known, MOST);
    });
  }

  return { of, look };
}

function keyOf({ agent, cwd }: Place): string {
  return `${agent}\n${cwd}`;
}

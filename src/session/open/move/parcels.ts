import type { SessionRecord } from "../../store.ts";
import { type Dirent, existsSync, lstatSync } from "node:fs";
import { mkdir, readdir, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";

import { isObject } from "../../../base/check.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { realPath } from "../../../base/file/path.ts";
import { readRegularFile } from "../../../base/file/read-regular-file.ts";
import { DEFAULT_LIMITS } from "../../../base/limit/limits.ts";
import { OWNER } from "../../../base/principal.ts";
import { maskWhole } from "../../../base/text/mask.ts";
import { BUILT_IN, type Config } from "../../../config/config.ts";
import { defaultData } from "../../../config/locations.ts";
import { Git } from "../../../git/git.ts";
import { topFolder } from "../../../git/git-folder.ts";
import { listSubmodules } from "../../../git/repository.ts";
import { ReviewCommands } from "../../../review/review-commands.ts";
import { parseMessage } from "../../../rpc/message/message.ts";
import { exportReviews, importReviews } from "../../../review/transfer/transfer.ts";
import { DENIED_NAMES, nameJudge } from "../../../run/change/scan.ts";
import { FileLock } from "../../../store/file-lock.ts";
import type { MovedSession, MovedUsage, MovedWork } from "../../../store/schema.gen.ts";
import { SessionLog } from "../../../store/session/session-log.ts";
import type { ArrivedSession } from "../../../store/session/session-moves.ts";
import { lineOf, type Page } from "../../../store/session/session-pages.ts";
import {
  folderOf,
  homeOfVisitor,
  ignoredFiles,
  includedBy,
  LOCK,
} from "../../../worktree/worktrees.ts";
import type { SessionEvent } from "../../event.ts";
import { exportedEvents } from "../../turn/exported-events.ts";
import { type Visitor, isVisitor, workingFolder, workplaceOf } from "../../workplace.ts";
import { AgentFiles } from "./agent-files.ts";
import { type Bundle, type BundledFiles, LARGEST_BUNDLE, refusal, writeBundle } from "./bundle.ts";
import { type ReturnedWork, takeBack } from "./take-back.ts";
import {
  captureWork,
  FILES,
  giveObjects,
  lastMove,
  layOut,
  openShadow,
  packWork,
  refuseLinks,
  type Shadow,
  takeObjects,
} from "./work.ts";

interface PackOptions {
  readonly path: string;
  /** A commit of an earlier move that the other side has. */
  readonly have?: string;
  /** Without the work, and without secrets. */
  readonly isShare?: boolean;
  /** Also ignored files whose names say that they hold secrets. */
  readonly withSecrets?: boolean | undefined;
}

/** How a session comes. */
export interface Arrival {
  readonly owner: string;
  /** The session and its work as they were when it left here. */
  readonly back?: SessionRecord | undefined;
  readonly left?: MovedWork | undefined;
  /** A copy from a file: the agent's own session belongs to the original. */
  readonly isCopy?: boolean;
  /** The person's own machine sends it, so its mode is that person's choice. */
  readonly isTrusted: boolean;
  /** Whether it has not been put here meanwhile. */
  readonly isComing?: () => Promise<boolean>;
  /** Stores the session. */
  readonly arrive: (session: ArrivedSession) => Promise<void>;
}

const GIT_TIME = 30 * 60_000;
/** Bytes of an ignored file that goes along, and of all. */
const LARGEST_CARRIED = 10 * 1024 * 1024;
const LARGEST_ALL_CARRIED = 100 * 1024 * 1024;
/** Characters of a page of events. */
const PAGE = 96 * 1024;
/** Notes that go along. Open questions and permissions do not. */
const KEPT: Readonly<Record<string, (value: unknown) => boolean>> = {
  model: (value) => typeof value === "string",
  isTitled: (value) => value === true,
  summaryAfter: Number.isSafeInteger,
  chosen: isObject,
  memory: isObject,
};

/** Where a session works in a repository. */
interface RepositoryPlace {
  readonly git: Git;
  readonly top: string;
  readonly folder: string;
}

/** Makes bundles of sessions, and sessions of bundles. */
export class Parcels {
  readonly #config: Config;
  readonly #log: SessionLog;
  readonly #env: NodeJS.ProcessEnv;

  constructor(config: Config, log: SessionLog, env: NodeJS.ProcessEnv) {
    this.#config = config;
    this.#log = log;
    this.#env = env;
  }

  /** The repository that a session works in; undefined where there is none. */
  siteOf(record: Pick<SessionRecord, "cwd" | "notes">): RepositoryPlace | undefined {
    // By its real path, as the top folder: the session may have begun behind a link.
    const folder = realPath(workingFolder(record));
    const top = existsSync(folder) ? topFolder(folder) : undefined;
    const { visitor } = record.notes;
    // In its sandbox, its agent could have put a link there, or have removed the repository.
    if (isVisitor(visitor) && top !== realPath(visitor.tree)) return undefined;
    return top === undefined ? undefined : { git: this.#git(top), top, folder };
  }

  #git(folder: string): Git {
    return new Git(folder, { env: this.#env, timeout: GIT_TIME, maxOutput: LARGEST_BUNDLE });
  }

  #shadow(id: string, git: Git): Promise<Shadow> {
    return openShadow(git, this.shadowOf(id));
  }

  /** The repository with what was moved of a session. */
  shadowOf(id: string): string {
    return join(this.#config.data, "moves", `${id}.git`);
  }

  /** Removes what there is of a session that has not come. */
  async forget(id: string): Promise<void> {
    for (const folder of [this.shadowOf(id), folderOf(this.#config.data, id)])
      await rm(folder, { recursive: true, force: true });
  }

  /** The commit of the session's last move that is here; empty if there is none. */
  async have(id: string, record: SessionRecord | undefined): Promise<string> {
    const site = record && this.siteOf(record);
    return site === undefined ? "" : await lastMove(await this.#shadow(id, site.git));
  }

  /** What stays here when a session leaves, in words. */
  async staysHere(record: SessionRecord, withSecrets: boolean): Promise<string[]> {
    const says = ["running processes", "permissions that were given for good"];
    const site = this.siteOf(record);
    if (site === undefined) return says;
    const { git, top } = site;
    const carried = await this.#carriedOf(site, record, withSecrets);
    const lines = await git.list(["status", "--porcelain", "-z", "--ignored", "--no-renames"]);
    const modules = await listSubmodules(git, top);
    const pathsOf = (kind: string): string[] =>
      lines.filter((line) => line.startsWith(kind)).map((line) => line.slice(3));
    const nested = pathsOf("??").filter((path) => existsSync(join(top, path, ".git")));
    const ignored = pathsOf("!!").filter((path) => !carried.includes(path));
    return [
      ...says,
      ...ignored.map((path) => `${path} (ignored by git)`),
      ...[...nested, ...modules.map(({ path }) => path)].map((path) => `${path} (a repository)`),
    ];
  }

  /** Ignored files that go along. Names that say that they hold secrets do not, unless a person says so. */
  async #carriedOf({ git, top }: RepositoryPlace, { notes }: SessionRecord, withSecrets: boolean) {
    const { data, sessions } = this.#config;
    const patterns = [...sessions.worktree.carry, includedBy(top)];
    // A list of its own: the dashboard may ask what stays while the session moves.
    const list = join(data, "moves", `${crypto.randomUUID()}.carry`);
    const found = await ignoredFiles(git, list, patterns);
    const all = ["ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--", ...found];
    const literal = { env: { GIT_LITERAL_PATHSPECS: "1" } };
    const paths = found.length === 0 ? [] : await git.list(all, literal);
    const judge = nameJudge(DENIED_NAMES);
    let total = 0;
    const carried = paths.filter((path) => {
      const { size } = lstatSync(join(top, path));
      const isSecret = !withSecrets && judge(path) !== undefined;
      if (isSecret || size > LARGEST_CARRIED || total + size > LARGEST_ALL_CARRIED) return false;
      total += size;
      return true;
    });
    // What another machine says is carried names no file of this one.
    return isOurs({ notes }) ? [...new Set([...movedOf(notes).carried, ...carried])] : carried;
  }

  async pack(
    record: SessionRecord,
    { path, have = "", isShare = false, withSecrets = false }: PackOptions,
  ): Promise<{ readonly digest: string; readonly work: MovedWork | undefined }> {
    const { id, cwd, agent, title = "", created, updated, notes } = record;
    const files = new Map([["events", await this.#events(id, isShare)]]);
    const site = isShare ? undefined : this.siteOf(record);
    let work: MovedWork | undefined;
    if (site !== undefined) {
      const { git, top, folder } = site;
      if (isVisitor(notes.visitor)) await refuseForeignGit(top);
      const shadow = await this.#shadow(id, git);
      const carried = await this.#carriedOf(site, record, withSecrets);
      work = await captureWork(shadow, relative(top, folder), carried);
      files.set("work.pack", await packWork(shadow, work, have));
      using commands = await ReviewCommands.open(this.#config.data, top);
      files.set("reviews", Buffer.from(await exportReviews(commands, "json")));
    }
    const { home = this.#config.data, undo, agentFiles } = this.#keptFor(id, agent, notes);
    const names = isShare ? [] : await readdir(undo, { recursive: true }).catch(() => []);
    let most = LARGEST_BUNDLE;
    for (const name of names.filter((each) => /\.(?:jsonl|before)$/.test(each))) {
      const content = readRegularFile(join(undo, name), { most, inside: [home] });
      most -= content?.length ?? 0;
      files.set(`undo/${name}`, content ?? Buffer.alloc(0));
    }
    if (!isShare) (await agentFiles.read()).forEach((content, name) => files.set(name, content));
    const usage = await this.#log.database.all`SELECT turn, day, tokens, cost, steps, time,
      coalesce(reported_cost, 0) AS reportedCost FROM turn_usage WHERE session = ${id}`;
    const folders = [...new Set([...movedOf(notes).folders, site?.top ?? cwd])];
    const said = isShare
      ? { title: maskWhole(title), notes: {}, folders: [] }
      : { title, notes: keptOf(notes), folders, ...(work === undefined ? {} : { work }) };
    const head = { id, agent, created, updated, usage: usage as unknown as MovedUsage[], ...said };
    return { digest: await writeBundle(path, head, files), work };
  }

  async #events(id: string, isShare: boolean): Promise<Buffer> {
    const batches = this.#log.read(id);
    async function* all() {
      for await (const batch of batches) {
        for (const { message, ...rest } of batch) yield { ...rest, event: message as SessionEvent };
      }
    }
    const lines: string[] = [];
    for await (const { seq, at, direction, event } of isShare ? exportedEvents(all()) : all()) {
      lines.push(lineOf(seq, direction, JSON.stringify(event), at));
    }
    return Buffer.from(lines.join(""));
  }

  /** Where the agent of a session keeps what goes along. That of a visitor does so in the home of its sandbox. */
  #keptFor(id: string, agent: string, notes: Notes) {
    const { sessionId } = (notes.memory ?? {}) as { readonly sessionId?: unknown };
    const { command = "", args, env } = this.#config.agents[agent] ?? {};
    const home = isVisitor(notes.visitor) ? homeOfVisitor(this.#config.data, id) : undefined;
    const data = home === undefined ? this.#config.data : defaultData({ HOME: home });
    const own = home === undefined ? this.#env : { HOME: home };
    const its = { command, args, env: home === undefined ? env : undefined };
    const agentFiles = new AgentFiles(its, sessionId, own, home);
    return { home, data, undo: join(data, "undo", id), agentFiles };
  }

  /** Checks everything of a bundle, and takes its objects into a repository that nothing else uses. */
  async check(id: string, { head, files }: Bundle, back: SessionRecord | undefined): Promise<void> {
    const { last = 0 } = pagesOf(files, Infinity).at(-1) ?? {};
    if (last < (await this.#lastHere(back))) throw refusal("what was said here is not in it");
    const { top, folder } = this.#placeFor(id, head, back);
    const { work } = head;
    if (work === undefined) return;
    const git = this.#git(existsSync(top) ? top : join(this.#config.data, "moves"));
    const shadow = await this.#shadow(id, git);
    await takeObjects(shadow, work, files.get("work.pack"));
    await refuseLinks(shadow, work, relative(top, folder));
  }

  /** The number of the last event that is here already. */
  async #lastHere(back: SessionRecord | undefined): Promise<number> {
    let last = 0;
    if (back === undefined) return last;
    for await (const batch of this.#log.read(back.id)) last = batch.at(-1)?.seq ?? last;
    return last;
  }

  /** The work tree that a session gets, or had, and the folder in it. */
  #placeFor(id: string, { work, folders }: MovedSession, back: SessionRecord | undefined) {
    const site = back && this.siteOf(back);
    if (back !== undefined && site !== undefined) return { ...site, isNew: isOurs(back) };
    const name = basename(folders.at(-1) ?? "").replaceAll(/[^A-Za-z0-9_-]/g, "-");
    const top = join(folderOf(this.#config.data, id), `work-${name.slice(0, 60)}`);
    const { inside = "" } = work ?? {};
    if (/^\/|(?:^|\/)\.\.(?:\/|$)|\0/.test(inside)) {
      throw refusal(`its folder '${inside}' is outside of its work tree`);
    }
    return { git: this.#git(top), top, folder: join(top, inside), isNew: true };
  }

  /** Puts everything of a bundle where it belongs, and has the session stored. It can be repeated. */
  async unpack(
    id: string,
    { head, files }: Bundle,
    arrival: Arrival,
  ): Promise<ReturnedWork | undefined> {
    const { data, remote } = this.#config;
    const { owner, back, isCopy = false, isTrusted, arrive } = arrival;
    const { agent, title, created, updated, usage, folders, work } = head;
    const own = folderOf(data, id);
    await mkdir(own, { recursive: true, mode: 0o700 });
    // What is there before the session is would be put away.
    using _ = await FileLock.take(join(own, LOCK), GIT_TIME);
    if ((await arrival.isComing?.()) === false) return undefined;
    const { place, says } = await this.#putWork(id, head, arrival);
    const folder = place?.folder ?? back?.cwd ?? data;
    const top = topFolder(folder) ?? folder;
    const isOwn = isOurs({ notes: { worktree: place } }) && remote.sandbox === "on";
    const visitor: Visitor | undefined =
      isTrusted && isOwn ? { visitor: id, tree: top } : undefined;
    const notes: Notes = { ...keptOf(head.notes), visitor };
    const kept = this.#keptFor(id, agent, notes);
    if (kept.home !== undefined) await rm(kept.home, { recursive: true, force: true });
    await this.#putUndo(kept.undo, files, folders.at(-1) ?? "", top);
    const reviews = files.get("reviews");
    if (reviews !== undefined && work !== undefined) {
      using commands = await ReviewCommands.open(data, top);
      await importReviews(commands, reviews.toString("utf8"));
    }
    const isBuiltIn = agent === BUILT_IN;
    const isLoaded = isBuiltIn || (!isCopy && (await kept.agentFiles.put(files, folder)));
    const moved = {
      top,
      folders: folders.filter((one) => one !== top),
      carried: work?.carried ?? [],
    };
    if (isBuiltIn && visitor !== undefined) {
      // It is a program of its own in the sandbox, with sessions of its own.
      await using log = await SessionLog.open(kept.data);
      const session = { id, agent, title, created, updated, cwd: folder, usage: [] };
      const pages = pagesOf(files, Infinity);
      await log.moves.arrive(undefined, { ...session, pages, notes: { moved, directories: [] } });
    }
    const chosen = isTrusted ? notes.chosen : chosenHere(notes.chosen, back?.notes.chosen);
    const theirs = isBuiltIn && visitor !== undefined ? { sessionId: id } : notes.memory;
    const memory = isTrusted ? theirs : chosenHere(theirs, back?.notes.memory);
    await arrive({
      ...{ id, agent, title, created, updated, usage, cwd: back?.cwd ?? folder },
      parent: isCopy ? head.id : back?.parent,
      pages: pagesOf(files, await this.#lastHere(back)),
      notes: {
        ...{ ...notes, chosen, directories: [] },
        memory: isLoaded ? memory : undefined,
        owner: owner === OWNER.id ? undefined : owner,
        worktree: place ?? back?.notes.worktree,
        moved,
      },
    });
    const forgets = `Agent '${agent}' cannot load its session here: it gets the conversation as text.`;
    const asks = `Its mode is not the one that it had there. Choose that again if you want it here.`;
    const isOther = modeOf(notes.chosen) !== undefined && modeOf(notes.chosen) !== modeOf(chosen);
    const more = [isLoaded ? "" : forgets, isOther ? asks : ""].filter(Boolean);
    return { folder, says: [...says, ...more] };
  }

  /** Puts the work of an arriving session where it belongs. */
  async #putWork(id: string, head: MovedSession, { back, left }: Arrival): Promise<ReturnedWork> {
    const { git, top, folder, isNew } = this.#placeFor(id, head, back);
    const { work } = head;
    if (work === undefined) return { folder, says: [] };
    if (!existsSync(join(top, ".git"))) {
      await mkdir(top, { recursive: true, mode: 0o700 });
      await git.run(["init", "--quiet", "--template="], FILES);
    }
    const shadow = await this.#shadow(id, git);
    await giveObjects(shadow, work);
    const beside = folderOf(this.#config.data, id);
    if (!isNew && left !== undefined) {
      const own = back && workplaceOf(back.notes);
      const taken = await takeBack(shadow, { session: id, left, work, beside, folder });
      return { ...taken, place: taken.place ?? own };
    }
    await layOut(shadow, work);
    await mkdir(folder, { recursive: true });
    const base = { revision: work.head };
    const place = { folder, tree: top, repository: top, branch: work.branch, isOwnBranch: false };
    return { folder, place: { ...place, base, warnings: [] }, says: [] };
  }

  /** The undo journal, with the paths of the new folder. Undoing writes nowhere else than in that. */
  async #putUndo(folder: string, files: BundledFiles, from: string, to: string): Promise<void> {
    await rm(folder, { recursive: true, force: true });
    const [old = "", now = ""] = [from, to].map((path) => `${JSON.stringify(path).slice(0, -1)}/`);
    for (const [name, content] of files) {
      if (!name.startsWith("undo/")) continue;
      const target = join(folder, name.slice("undo/".length));
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      const isText = name.endsWith(".jsonl");
      const mapped = isText ? content.toString("utf8").replaceAll(old, () => now) : content;
      await writeFile(target, mapped, { mode: 0o600 });
    }
  }
}

/** Members of events without which nobody can read them: texts, but for those in `SHAPES`. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  prompt: ["turnId", "prompt", "by"],
  update: ["update"],
  permission: ["turnId", "requestId", "request"],
  answer: ["requestId", "outcome", "by"],
  setting: ["setting", "id"],
  end: ["turnId", "stopReason"],
};
const SHAPES: Readonly<Record<string, (value: unknown) => boolean>> = {
  prompt: (parts) => Array.isArray(parts) && parts.every((part) => isObject(part)),
  update: (update) => isObject(update) && typeof update.sessionUpdate === "string",
  request: (request) => isObject(request) && Array.isArray(request.options),
  outcome: isObject,
};

/** Characters of an event, which came in one message, and what it may cost to read. */
const LONGEST_LINE = 2 * DEFAULT_LIMITS.maxMessage;
const LINE_LIMITS = { maxDepth: 2 * DEFAULT_LIMITS.maxDepth, maxWork: 2 * DEFAULT_LIMITS.maxWork };

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value) && Math.abs(Number(value)) <= 8.64e15;
}

/** The events of a bundle. A page ends after the event with the number `cut`. */
function pagesOf(files: BundledFiles, cut: number): Omit<Page, "session">[] {
  const lines = (files.get("events")?.toString("utf8") ?? "cut").split("\n");
  if (lines.pop() !== "") throw refusal("its last event is not whole");
  const pages: { first: number; last: number; lines: string }[] = [];
  for (const [index, line] of lines.entries()) {
    const parsed = line.length > LONGEST_LINE ? undefined : parseMessage(line, LINE_LIMITS);
    const [seq, at, direction, said] = Array.isArray(parsed) ? (parsed as unknown[]) : [];
    const message = (said ?? {}) as Readonly<Record<string, unknown>>;
    const isWhole = NEEDS[String(message.kind)]?.every(
      (name) => SHAPES[name]?.(message[name]) ?? typeof message[name] === "string",
    );
    const isSaid = direction === "client" || direction === "agent";
    if (isWhole !== true || !isSaid || seq !== index + 1 || !isTime(at)) {
      throw refusal(`its event ${index + 1} is none that Trunkline writes`);
    }
    const text = lineOf(seq, direction, JSON.stringify(message), at);
    const page = pages.at(-1);
    const isNew = page === undefined || page.lines.length > PAGE || seq === cut + 1;
    if (isNew) pages.push({ first: seq, last: seq, lines: text });
    else Object.assign(page, { last: seq, lines: page.lines + text });
  }
  return pages;
}

type Notes = SessionRecord["notes"];

/** The agent of a visitor could have had git read another repository of this machine. */
async function refuseForeignGit(top: string): Promise<void> {
  const folder = join(top, ".git");
  const isFolder = lstatSync(folder).isDirectory();
  const found = isFolder ? await readdir(folder, { recursive: true, withFileTypes: true }) : [];
  const pathOf = (entry: Dirent): string => relative(folder, join(entry.parentPath, entry.name));
  const foreign = found.find((entry) => {
    return FOREIGN.has(pathOf(entry)) || !(entry.isFile() || entry.isDirectory());
  });
  if (isFolder && foreign === undefined) return;
  const what = foreign === undefined ? ".git" : join(".git", pathOf(foreign));
  const why = `'${what}' in its work tree leads to another repository. Have its agent remove that`;
  throw new TrunklineError("untrusted", `Cannot move the session: ${why}.`);
}

/** By what a repository names another one. */
const FOREIGN = new Set(["objects/info/alternates", "objects/info/http-alternates", "commondir"]);

function keptOf(notes: Notes): Notes {
  return Object.fromEntries(Object.entries(notes).filter(([name, value]) => KEPT[name]?.(value)));
}

/** What the notes of a session say of its moves. */
function movedOf({ moved }: Notes): { readonly folders: string[]; readonly carried: string[] } {
  return { folders: [], carried: [], ...(moved as object | undefined) };
}

function modeOf(chosen: unknown): unknown {
  return ((chosen ?? {}) as { readonly modeId?: unknown }).modeId;
}

/** A mode may let an agent work without asking, so only a person of this machine chooses it here. */
function chosenHere(theirs: unknown, ours: unknown): object {
  const { modeId, configOptions } = (ours ?? {}) as Notes;
  const here = { ...(modeId ? { modeId } : {}), ...(configOptions ? { configOptions } : {}) };
  const { modeId: _, configOptions: __, ...others } = (theirs ?? {}) as Notes;
  return { ...others, ...here };
}

/** Whether a session works in a repository that was made for it here. */
function isOurs({ notes }: Pick<SessionRecord, "notes">): boolean {
  const place = workplaceOf(notes);
  return place !== undefined && place.repository === place.tree;
}

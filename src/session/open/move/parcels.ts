import { existsSync, lstatSync } from "node:fs";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";

import { describeProblem, parsedJson } from "../../../base/check.ts";
import { OWNER } from "../../../base/principal.ts";
import { maskWhole } from "../../../base/text/mask.ts";
import { BUILT_IN } from "../../../config/config.ts";
import { Git } from "../../../git/git.ts";
import { topFolder } from "../../../git/git-folder.ts";
import { ReviewCommands } from "../../../review/review-commands.ts";
import { exportReviews, importReviews } from "../../../review/transfer/transfer.ts";
import { DENIED_NAMES, nameJudge } from "../../../run/change/scan.ts";
import {
  checkMovedEvent,
  type MovedNotes,
  type MovedSession,
  type MovedUsage,
  type MovedWork,
} from "../../../store/schema.gen.ts";
import type { SessionLog, SessionRecord } from "../../../store/session/session-log.ts";
import type { ArrivedSession } from "../../../store/session/session-moves.ts";
import { lineOf, type Page } from "../../../store/session/session-pages.ts";
import { folderOf, ignoredFiles, LOCK } from "../../../worktree/worktrees.ts";
import { FileLock } from "../../../store/file-lock.ts";
import type { SessionEvent } from "../../event.ts";
import { exportedEvents } from "../../turn/exported-events.ts";
import { workingFolder, type Workplace, workplaceOf } from "../../workplace.ts";
import { AgentFiles, type MovedAgent } from "./agent-files.ts";
import { type Bundle, type BundledFiles, LARGEST_BUNDLE, refusal, writeBundle } from "./bundle.ts";
import { takeBack } from "./take-back.ts";
import {
  captureWork,
  FILES,
  giveObjects,
  lastMove,
  layOut,
  openShadow,
  packWork,
  type Shadow,
  takeObjects,
} from "./work.ts";

export interface ParcelOptions {
  readonly data: string;
  readonly log: SessionLog;
  readonly env: NodeJS.ProcessEnv;
  /** The agents that are other programs, by name. */
  readonly agents: Readonly<Record<string, MovedAgent>>;
  /** Patterns of ignored files that go along. */
  readonly carry: readonly string[];
}

export interface Packing {
  readonly path: string;
  /** A commit of an earlier move that the other side has. */
  readonly have?: string;
  /** Without the work, and without secrets. */
  readonly isShare?: boolean;
  /** Also ignored files whose names say that they hold secrets. */
  readonly withSecrets?: boolean | undefined;
}

export interface Packed {
  readonly digest: string;
  readonly work: MovedWork | undefined;
  readonly carried: readonly string[];
}

/** How a session comes. */
export interface Arrival {
  readonly owner: string;
  /** The session as it was when it left here. */
  readonly back?: SessionRecord | undefined;
  /** Its work as it left here, and what was carried. */
  readonly left?: Pick<Packed, "work" | "carried"> | undefined;
  /** A copy from a file: the agent's own session belongs to the original. */
  readonly isCopy?: boolean;
  /** The person's own machine sends it, so its mode is that person's choice. */
  readonly isTrusted: boolean;
}

/** A session that has come, and what a person has to know. */
export interface Unpacked {
  readonly session: ArrivedSession;
  readonly folder: string;
  readonly says: readonly string[];
}

const GIT_TIME = 30 * 60_000;
/** Bytes of an ignored file that goes along, and of all. */
const LARGEST_CARRIED = 10 * 1024 * 1024;
const LARGEST_ALL_CARRIED = 100 * 1024 * 1024;
/** Characters of a page of events. */
const PAGE = 96 * 1024;
const KEPT = ["model", "isTitled", "summaryAfter", "chosen", "memory"] as const;

interface Carried {
  readonly carried: readonly string[];
  readonly refused: readonly string[];
}

/** Where a session works in a repository. */
interface Site {
  readonly git: Git;
  readonly top: string;
  readonly folder: string;
}

/** Makes bundles of sessions, and sessions of bundles. */
export class Parcels {
  readonly #options: ParcelOptions;

  constructor(options: ParcelOptions) {
    this.#options = options;
  }

  /** The repository that a session works in; undefined where there is none. */
  siteOf(record: Pick<SessionRecord, "cwd" | "notes">): Site | undefined {
    const folder = workingFolder(record);
    const top = existsSync(folder) ? topFolder(folder) : undefined;
    return top === undefined ? undefined : { git: this.#git(top), top, folder };
  }

  #git(folder: string): Git {
    const { env } = this.#options;
    return new Git(folder, { env, timeout: GIT_TIME, maxOutput: LARGEST_BUNDLE });
  }

  #shadow(id: string, git: Git, work?: MovedWork): Promise<Shadow> {
    const folder = join(this.#options.data, "moves", `${id}.git`);
    return openShadow(git, folder, work?.tree.length === 64);
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
    const { carried } = await this.#carriedOf(site, record, withSecrets);
    const status = ["status", "--porcelain", "-z", "--ignored", "--no-renames"];
    const lines = await site.git.list(status);
    const staged = await site.git.list(["ls-files", "--stage", "-z"]);
    const pathsOf = (all: readonly string[], start: RegExp): string[] =>
      all.filter((line) => start.test(line)).map((line) => line.replace(start, ""));
    const ignored = pathsOf(lines, /^!! /).filter((path) => !carried.includes(path));
    const others = pathsOf(lines, /^\?\? (?=.*\/$)/).filter((path) =>
      existsSync(join(site.top, path, ".git")),
    );
    const modules = pathsOf(staged, /^160000 .*\t/);
    return [
      ...says,
      ...ignored.map((path) => `${path} (ignored by git)`),
      ...[...others, ...modules].map((path) => `${path} (another repository)`),
    ];
  }

  /** Ignored files that go along. Names that say that they hold secrets do not, unless a person says so. */
  async #carriedOf(
    { git, top }: Site,
    { id, notes }: SessionRecord,
    withSecrets: boolean,
  ): Promise<Carried> {
    const { carry, data } = this.#options;
    // What another machine says is carried names no file of this one.
    const known = isOurs({ notes }) ? movedFrom(notes).carried : [];
    const include = await readFile(join(top, ".worktreeinclude"), "utf8").catch(() => "");
    await mkdir(join(data, "moves"), { recursive: true, mode: 0o700 });
    const patterns = [...carry, ...include.split("\n")];
    const found = await ignoredFiles(git, join(data, "moves", `${id}.carry`), patterns);
    const all = ["ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--"];
    const paths = found.length === 0 ? [] : await git.list([...all, ...found]);
    const judge = nameJudge(DENIED_NAMES);
    let total = 0;
    const isCarried = (path: string): boolean => {
      const { size } = lstatSync(join(top, path), { throwIfNoEntry: false }) ?? { size: Infinity };
      const isSecret = !withSecrets && judge(path) !== undefined;
      if (isSecret || size > LARGEST_CARRIED || total + size > LARGEST_ALL_CARRIED) return false;
      total += size;
      return true;
    };
    const carried = new Set([
      ...known.filter((path) => existsSync(join(top, path))),
      ...paths.filter(isCarried),
    ]);
    return { carried: [...carried], refused: paths.filter((path) => !carried.has(path)) };
  }

  async pack(record: SessionRecord, packing: Packing): Promise<Packed> {
    const { data, log } = this.#options;
    const { path, isShare = false, have = "", withSecrets = false } = packing;
    const { id, cwd, agent, title = "", created, updated, notes } = record;
    const files = new Map([["events", await this.#events(id, isShare)]]);
    const site = isShare ? undefined : this.siteOf(record);
    let work: MovedWork | undefined;
    let carried: readonly string[] = [];
    if (site !== undefined) {
      ({ carried } = await this.#carriedOf(site, record, withSecrets));
      const shadow = await this.#shadow(id, site.git);
      work = await captureWork(shadow, carried);
      files.set("work.pack", await packWork(shadow, work, have));
    }
    if (!isShare) {
      const undo = join(data, "undo", id);
      for (const name of await readdir(undo, { recursive: true }).catch(() => [])) {
        if (/\.(?:jsonl|before)$/.test(name)) {
          files.set(`undo/${name}`, await readFile(join(undo, name)));
        }
      }
      for (const [name, content] of await this.#agentFiles(agent, notes).read()) {
        files.set(name, content);
      }
    }
    const rows = await log.database.all`SELECT turn, day, tokens, cost, steps, time,
      reported_cost AS reportedCost FROM turn_usage WHERE session = ${id}`;
    const usage = rows.map(({ reportedCost, ...row }) => {
      return reportedCost === null ? row : { ...row, reportedCost };
    }) as unknown as MovedUsage[];
    const top = isShare ? "" : (site?.top ?? cwd);
    const folders = isShare ? [] : [...new Set([...movedFrom(notes).folders, top])];
    const digest = await writeBundle(
      path,
      {
        ...{ id, agent, created, updated, usage, folder: top, moved: { folders, carried } },
        ...{ title: isShare ? maskWhole(title) : title, notes: isShare ? {} : keptOf(notes) },
        name: basename(top)
          .replaceAll(/[^A-Za-z0-9_-]/g, "-")
          .slice(0, 60),
        inside: relative(top, site?.folder ?? top),
        ...(work === undefined ? {} : { work, reviews: await this.#reviews(site?.top ?? "") }),
      },
      files,
    );
    return { digest, work, carried };
  }

  async #events(id: string, isShare: boolean): Promise<Buffer> {
    const { log } = this.#options;
    async function* all() {
      for await (const batch of log.read(id)) {
        for (const { message, ...rest } of batch) yield { ...rest, event: message as SessionEvent };
      }
    }
    const lines: string[] = [];
    for await (const { seq, at, direction, event } of isShare ? exportedEvents(all()) : all()) {
      lines.push(lineOf(seq, direction, JSON.stringify(event), at));
    }
    return Buffer.from(lines.join(""));
  }

  async #reviews(top: string): Promise<string> {
    using commands = await ReviewCommands.open(this.#options.data, top);
    return await exportReviews(commands, "json");
  }

  #agentFiles(agent: string, notes: MovedNotes): AgentFiles {
    const { agents, env } = this.#options;
    return new AgentFiles(agents[agent] ?? { command: "" }, notes.memory?.sessionId, env);
  }

  /** Checks everything of a bundle, and takes its objects into a repository that nothing else uses. */
  async check(id: string, bundle: Bundle, back: SessionRecord | undefined): Promise<void> {
    const { head, files } = bundle;
    const last = pagesOf(files, Infinity).at(-1)?.last ?? 0;
    if (last < (await this.#cut(back))) throw refusal("what was said here is not in it");
    const { top } = this.#placeFor(id, head, back);
    const { work } = head;
    if (work === undefined) return;
    const git = this.#git(existsSync(top) ? top : join(this.#options.data, "moves"));
    await takeObjects(await this.#shadow(id, git, work), work, files.get("work.pack"));
  }

  /** The work tree that a session gets, or had, and the folder in it. */
  #placeFor(id: string, { name, inside }: MovedSession, back: SessionRecord | undefined) {
    const site = back && this.siteOf(back);
    if (back !== undefined && site !== undefined) return { ...site, isOurs: isOurs(back) };
    const top = join(folderOf(this.#options.data, id), `work-${name}`);
    const isPlain = inside === "" || !/^\/|(?:^|\/)\.\.(?:\/|$)|\0/.test(inside);
    if (!isPlain) throw refusal(`its folder '${inside}' is outside of its work tree`);
    return { git: this.#git(top), top, folder: join(top, inside), isOurs: true };
  }

  /**
   * Puts everything of a bundle where it belongs, and returns the session, which `arrive` then stores. It
   * can be repeated. What is there before the session is would be put away, so `arrive` is called under a lock.
   */
  async unpack(
    id: string,
    { head, files }: Bundle,
    arrival: Arrival,
    arrive: (session: ArrivedSession) => Promise<void>,
  ): Promise<Unpacked> {
    const { data } = this.#options;
    const { owner, back, isCopy = false, isTrusted } = arrival;
    const { agent, title, created, updated, usage, moved } = head;
    const own = folderOf(data, id);
    await mkdir(own, { recursive: true, mode: 0o700 });
    using _ = await FileLock.take(join(own, LOCK), GIT_TIME);
    const { place, folder, top, says } = await this.#put(id, head, arrival);
    await this.#putUndo(id, files, head.folder, top);
    if (head.reviews !== undefined && head.work !== undefined) {
      using commands = await ReviewCommands.open(data, top);
      await importReviews(commands, head.reviews);
    }
    const notes = keptOf(head.notes);
    const isLoaded =
      agent === BUILT_IN || (!isCopy && (await this.#agentFiles(agent, notes).put(files, folder)));
    const [chosen, memory] = isTrusted
      ? [notes.chosen, notes.memory]
      : [here(notes.chosen, back?.notes.chosen), here(notes.memory, back?.notes.memory)];
    const { modeId } = notes.chosen ?? {};
    const isOther = modeId !== undefined && chosen?.modeId !== modeId;
    const session = {
      ...{ id, agent, created, updated, usage, pages: pagesOf(files, await this.#cut(back)) },
      cwd: back?.cwd ?? (head.work === undefined ? data : folder),
      title,
      parent: isCopy ? head.id : back?.parent,
      notes: {
        ...notes,
        ...(owner === OWNER.id ? {} : { owner }),
        ...(place === undefined ? {} : { worktree: place }),
        ...{ chosen, memory: isLoaded ? memory : undefined, directories: [] },
        moved: { ...moved, folders: moved.folders.filter((one) => one !== top) },
      },
    };
    await arrive(session);
    const forgets = `Agent '${agent}' cannot load its session here: it gets the conversation as text.`;
    const asks = `Its mode was '${modeId}' there. Choose it again if you want it here.`;
    const more = [...(isLoaded ? [] : [forgets]), ...(isOther ? [asks] : [])];
    return { session, folder, says: [...says, ...more] };
  }

  /** The number of the last event that is here already. */
  async #cut(back: SessionRecord | undefined): Promise<number> {
    let last = 0;
    if (back === undefined) return last;
    for await (const batch of this.#options.log.read(back.id)) last = batch.at(-1)?.seq ?? last;
    return last;
  }

  /** Puts the work of an arriving session where it belongs. */
  async #put(
    id: string,
    head: MovedSession,
    { back, left }: Arrival,
  ): Promise<{
    place: Workplace | undefined;
    folder: string;
    top: string;
    says: readonly string[];
  }> {
    const { git, top, folder, isOurs: isNew } = this.#placeFor(id, head, back);
    const { work } = head;
    const own = back && workplaceOf(back.notes);
    if (work === undefined) return { place: own, folder, top, says: [] };
    if (!existsSync(join(top, ".git"))) {
      await mkdir(top, { recursive: true, mode: 0o700 });
      const format = work.tree.length === 64 ? ["--object-format=sha256"] : [];
      await git.run(["init", "--quiet", "--template=", ...format], FILES);
    }
    const shadow = await this.#shadow(id, git, work);
    await giveObjects(shadow, work);
    if (!isNew && left?.work !== undefined) {
      const beside = folderOf(this.#options.data, id);
      const carried = [...new Set([...head.moved.carried, ...left.carried])];
      const back = { session: id, left: left.work, work, carried, beside, folder };
      const { place = own, says } = await takeBack(shadow, back);
      return { place, folder: place?.folder ?? folder, top: place?.tree ?? top, says };
    }
    await layOut(shadow, work);
    await mkdir(folder, { recursive: true });
    const place = { folder, tree: top, repository: top, branch: work.branch, isOwnBranch: false };
    const base = { revision: work.head };
    return { place: { ...place, base, warnings: [] }, folder, top, says: [] };
  }

  /** The undo journal, with the paths of the new folder. */
  async #putUndo(id: string, files: BundledFiles, from: string, to: string): Promise<void> {
    const folder = join(this.#options.data, "undo", id);
    await rm(folder, { recursive: true, force: true });
    const [old, now] = [from, to].map((path) => `${JSON.stringify(path).slice(0, -1)}/`);
    for (const [name, content] of files) {
      if (!name.startsWith("undo/")) continue;
      const target = join(folder, name.slice("undo/".length));
      await mkdir(dirname(target), { recursive: true, mode: 0o700 });
      const isText = name.endsWith(".jsonl");
      const mapped = isText
        ? content.toString("utf8").replaceAll(old ?? "", () => now ?? "")
        : content;
      await writeFile(target, mapped, { mode: 0o600 });
    }
  }
}

/** Members of events of a kind without which nobody can read them. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  prompt: ["turnId", "prompt", "by"],
  update: ["update"],
  permission: ["turnId", "requestId", "request"],
  answer: ["requestId", "outcome", "by"],
  setting: ["setting", "id"],
  end: ["turnId", "stopReason"],
};

/** The events of a bundle. A page ends after the event with the number `cut`. */
function pagesOf(files: BundledFiles, cut: number): Omit<Page, "session">[] {
  const lines = (files.get("events")?.toString("utf8") ?? "").split("\n");
  if (lines.pop() !== "") throw refusal("its last event is not whole");
  const pages: { first: number; last: number; lines: string }[] = [];
  for (const [index, line] of lines.entries()) {
    const [seq, at, direction, message] = (parsedJson(line) ?? []) as readonly unknown[];
    const wrong = checkMovedEvent(message);
    const { kind = "" } = (message ?? {}) as { readonly kind?: string };
    const lacks = (NEEDS[kind] ?? []).find((name) => !Object.hasOwn(message as object, name));
    const isSaid = direction === "client" || direction === "agent";
    if (wrong !== undefined || lacks !== undefined || !isSaid || seq !== index + 1) {
      const why = wrong === undefined ? "is incomplete" : describeProblem("event", wrong);
      throw refusal(`its event ${index + 1} is none that Trunkline writes: ${why}`);
    }
    const text = lineOf(seq, direction, JSON.stringify(message), Number(at) || 0);
    const page = pages.at(-1);
    const isNew = page === undefined || page.lines.length > PAGE || seq === cut + 1;
    if (isNew) pages.push({ first: seq, last: seq, lines: text });
    else Object.assign(page, { last: seq, lines: page.lines + text });
  }
  return pages;
}

function keptOf(notes: MovedNotes): MovedNotes {
  return Object.fromEntries(KEPT.flatMap((name) => (name in notes ? [[name, notes[name]]] : [])));
}

function movedFrom(notes: SessionRecord["notes"]): MovedSession["moved"] {
  return (notes.moved as MovedSession["moved"] | undefined) ?? { folders: [], carried: [] };
}

type Chosen = NonNullable<MovedNotes["chosen"]> & NonNullable<MovedNotes["memory"]>;

/** A mode may let an agent work without asking, so only a person of this machine chooses it here. */
function here(chosen: Chosen = {}, ours?: unknown): Chosen {
  const { modeId: _, configOptions: __, ...theirs } = chosen;
  const { modeId, configOptions } = (ours ?? {}) as Chosen;
  return {
    ...theirs,
    ...(modeId === undefined ? {} : { modeId }),
    ...(configOptions === undefined ? {} : { configOptions }),
  };
}

/** Whether a session works in a repository that was made for it here. */
function isOurs({ notes }: Pick<SessionRecord, "notes">): boolean {
  const place = workplaceOf(notes);
  return place !== undefined && place.repository === place.tree;
}

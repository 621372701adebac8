import { createReadStream, existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { basename, join, relative } from "node:path";

import { TrunklineError } from "../../../base/errors.ts";
import { OWNER } from "../../../base/principal.ts";
import { maskWhole } from "../../../base/text/mask.ts";
import { BUILT_IN, type Config } from "../../../config/config.ts";
import { Git } from "../../../git/git.ts";
import { topFolder } from "../../../git/git-folder.ts";
import { DENIED_NAMES, nameJudge } from "../../../run/change/scan.ts";
import { SessionLog, type SessionRecord } from "../../../store/session/session-log.ts";
import type { SessionMoves, StoredMove } from "../../../store/session/session-moves.ts";
import { replaceFile } from "../../../store/replace-file.ts";
import { folderOf, ignoredFiles } from "../../../worktree/worktrees.ts";
import { workingFolder, type Workplace, workplaceOf } from "../../workplace.ts";
import { INCOMING } from "../session-worktrees.ts";
import { AgentFiles, type MovedAgent } from "./agent-files.ts";
import { type OpenedBundle, readBundle, refusal, type Source, writeBundle } from "./bundle.ts";
import {
  digestOfEvents,
  type Moved,
  notesToMove,
  readEvents,
  readMoved,
  readNotes,
  writeEvents,
} from "./conversation.ts";
import { type GrantTerms, HostKey, isGranted } from "./host-key.ts";
import { takeBack } from "./take-back.ts";
import { putUndoFiles, undoSources } from "./undo-files.ts";
import {
  captureWork,
  commitsOf,
  knownCommits,
  layOut,
  makeRepository,
  packWork,
  readWork,
  takeObjects,
  type Work,
} from "./work.ts";

interface MoverOptions {
  readonly data: string;
  readonly log: SessionLog;
  readonly env: NodeJS.ProcessEnv;
  /** The agents that are other programs, by name. */
  readonly agents: Readonly<Record<string, MovedAgent>>;
  /** Patterns of ignored files that go along. */
  readonly carry: readonly string[];
}

/** How a session leaves. */
export interface Leaving {
  readonly move: string;
  /** Where it goes, for a person; the address of a gateway if it is one. */
  readonly to: string;
  /** The public key of the other side. */
  readonly key: string;
  /** Commits that the other side has. */
  readonly haves: readonly string[];
  /** Also ignored files whose names say that they hold secrets. */
  readonly withSecrets?: boolean | undefined;
  /** Milliseconds after which the move is given up where the other side drives it. */
  readonly patience?: number | undefined;
}

export interface Left {
  readonly epoch: number;
  readonly digest: string;
  /** The bundle. */
  readonly path: string;
}

/** What is to come. */
export interface Coming {
  readonly session: string;
  readonly move: string;
  readonly epoch: number;
  /** The public key of the side that it comes from. */
  readonly key: string;
  readonly agent: string;
  /** Whose it will be here. */
  readonly owner: string;
  /** The person's own machine sends it, so the mode that it has is that person's choice. */
  readonly isOwn: boolean;
}

interface Arrival {
  readonly owner: string;
  /** The session as it left here before. */
  readonly back?: SessionRecord | undefined;
  /** Left out for one from a file. */
  readonly move?: string;
  readonly isTrusted: boolean;
}

interface Arrived {
  readonly id: string;
  readonly folder: string;
  /** What a person has to know. */
  readonly says: readonly string[];
}

const ID = /^(?:agent\.)?[A-Za-z0-9_-]{1,200}$/;
const MOVE = /^[0-9a-f-]{36}$/;
const GIT_TIME = 30 * 60_000;
const LARGEST_OUTPUT = 1024 * 1024 * 1024;
/** Bytes of an ignored file, and of all. */
const LARGEST_CARRIED = 10 * 1024 * 1024;
const LARGEST_ALL_CARRIED = 100 * 1024 * 1024;

/** Where a session works in a repository. */
interface Site {
  readonly git: Git;
  readonly top: string;
  readonly folder: string;
}

/** One side of moves: the sessions of a data folder. */
export class Mover implements AsyncDisposable {
  readonly moves: SessionMoves;
  readonly #options: MoverOptions;

  private constructor(options: MoverOptions) {
    this.#options = options;
    this.moves = options.log.moves;
  }

  static async open({ data, agents, sessions }: Config, env: NodeJS.ProcessEnv): Promise<Mover> {
    const { carry } = sessions.worktree;
    return new Mover({ data, log: await SessionLog.open(data), env, agents, carry });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.log[Symbol.asyncDispose]();
  }

  get log(): SessionLog {
    return this.#options.log;
  }

  hostKey(): Promise<HostKey> {
    return HostKey.open(this.#options.data);
  }

  async record(id: string): Promise<SessionRecord> {
    const record = await this.#options.log.find(id);
    if (record?.isDeleted === false) return record;
    throw new TrunklineError("not-found", `Cannot find session '${id.slice(0, 64)}'.`);
  }

  /** Refuses an agent that is not configured here. */
  needAgent(name: string): void {
    if (name === BUILT_IN || Object.hasOwn(this.#options.agents, name)) return;
    const next = `Configure it there: trunkline agent add ${name}`;
    throw refusal(`its agent '${name}' is not configured at the other side. ${next}`);
  }

  /** The commits of the session's work that are here, of those that the other side names. */
  async haves(session: string, commits: readonly string[]): Promise<string[]> {
    const site = await this.#site(session);
    return site === undefined ? [] : await knownCommits(site.git, commits);
  }

  /** Commits of the session's work that the other side may have. */
  async commits(session: string): Promise<string[]> {
    const site = await this.#site(session);
    return site === undefined ? [] : await commitsOf(site.git, session);
  }

  async #site(session: string): Promise<Site | undefined> {
    const record = await this.#options.log.find(session);
    return record && this.#siteOf(record);
  }

  /** The repository that a session works in; undefined where there is none. */
  #siteOf(record: Pick<SessionRecord, "cwd" | "notes">): Site | undefined {
    const folder = workingFolder(record);
    const top = existsSync(folder) ? topFolder(folder) : undefined;
    return top === undefined ? undefined : { git: this.#git(top), top, folder };
  }

  #git(folder: string): Git {
    const { env } = this.#options;
    return new Git(folder, { env, timeout: GIT_TIME, maxOutput: LARGEST_OUTPUT });
  }

  #folderOf(move: string): string {
    if (!MOVE.test(move)) throw new TrunklineError("usage", "That is not the id of a move.");
    return join(this.#options.data, "moves", move);
  }

  /** What stays behind, in words. */
  async staysBehind(record: SessionRecord, withSecrets = false): Promise<string[]> {
    const site = this.#siteOf(record);
    const says = ["running processes", "permissions that were given for good"];
    if (site === undefined) return says;
    const { carried, refused } = await this.#carriedOf(site, record, withSecrets);
    const listed = ["ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"];
    const named = new Set([...carried, ...refused]);
    const ignored = (await site.git.list(listed)).filter((path) => !named.has(path));
    const others = await site.git.list(["ls-files", "--others", "--exclude-standard", "-z"]);
    const nested = others.filter((path) => path.endsWith("/"));
    const modules = (await site.git.list(["ls-files", "--stage", "-z"]))
      .filter((line) => line.startsWith("160000 "))
      .map((line) => line.slice(line.indexOf("\t") + 1));
    const list = (what: string, paths: readonly string[]): string[] =>
      paths.length === 0
        ? []
        : [`${what}: ${paths.slice(0, 20).join(", ")}${paths.length > 20 ? ", …" : ""}`];
    return [
      ...says,
      ...list("ignored files", ignored),
      ...list("ignored files that look like secrets or are large", refused),
      ...list("other repositories", [...nested, ...modules]),
    ];
  }

  /** Ignored files that go along, and those that match but do not. */
  async #carriedOf(
    { git, top }: Site,
    { id, notes }: SessionRecord,
    withSecrets: boolean,
  ): Promise<{ readonly carried: string[]; readonly refused: string[] }> {
    const { carry, data } = this.#options;
    // What another machine says is carried names no file of this one.
    const known = isOwn({ notes }) ? (readMoved(notes.moved)?.carried ?? []) : [];
    const include = await readFile(join(top, ".worktreeinclude"), "utf8").catch(() => "");
    const patterns = [...carry, include].filter((pattern) => pattern.trim() !== "");
    await mkdir(join(data, "moves"), { recursive: true, mode: 0o700 });
    const list = join(data, "moves", `${id}.carry`);
    const found = patterns.length === 0 ? [] : await ignoredFiles(git, list, patterns);
    const inFolders = found.filter((path) => path.endsWith("/"));
    const all = ["ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--"];
    const files = inFolders.length === 0 ? [] : await git.list([...all, ...inFolders]);
    const paths = new Set([...known, ...found.filter((path) => !path.endsWith("/")), ...files]);
    const [carried, refused]: [string[], string[]] = [[], []];
    const judge = nameJudge(DENIED_NAMES);
    let total = 0;
    const { lstatSync } = process.getBuiltinModule("node:fs");
    for (const path of paths) {
      const stats = lstatSync(join(top, path), { throwIfNoEntry: false });
      if (stats === undefined) continue;
      const isSecret = !withSecrets && !known.includes(path) && judge(path) !== undefined;
      const isLarge = stats.size > LARGEST_CARRIED || total + stats.size > LARGEST_ALL_CARRIED;
      if (isSecret || isLarge) refused.push(path);
      else {
        total += stats.size;
        carried.push(path);
      }
    }
    return { carried, refused };
  }

  /** Writes a session into a file, which is not a move: what is made of it is another session. */
  async export(record: SessionRecord, path: string, isShare: boolean): Promise<void> {
    const folder = this.#folderOf(crypto.randomUUID());
    try {
      await this.#bundle(record, { folder, path, isShare, haves: [] });
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  async #bundle(
    record: SessionRecord,
    options: {
      readonly folder: string;
      readonly path: string;
      readonly haves: readonly string[];
      readonly isShare?: boolean;
      readonly withSecrets?: boolean | undefined;
    },
  ): Promise<{ readonly digest: string; readonly work: Work | undefined; readonly moved: Moved }> {
    const { folder, path, isShare = false } = options;
    const { data, log } = this.#options;
    const { id, cwd, agent, title, created, updated, parent, notes } = record;
    await mkdir(folder, { recursive: true, mode: 0o700 });
    const events = join(folder, "events");
    await writeEvents(log, id, events, isShare);
    const sources: Source[] = [{ name: "events", path: events }];
    const site = isShare ? undefined : this.#siteOf(record);
    let work: Work | undefined;
    let carried: string[] = [];
    if (site !== undefined) {
      ({ carried } = await this.#carriedOf(site, record, options.withSecrets === true));
      work = await captureWork(site.git, carried);
      const pack = join(folder, "work.pack");
      await packWork(site.git, work, await knownCommits(site.git, options.haves), pack);
      sources.push({ name: "work.pack", path: pack });
    }
    if (!isShare) {
      sources.push(...(await undoSources(data, id)), ...(await this.#agentFiles(record).sources()));
    }
    const { folders = [] } = readMoved(notes.moved) ?? {};
    const top = site?.top ?? cwd;
    const moved = { folders: [...new Set([...folders, top])], carried };
    const usage = await log.database.all`SELECT turn, day, tokens, cost, steps, time,
      reported_cost AS reportedCost FROM turn_usage WHERE session = ${id}`;
    const kept = isShare ? {} : { ...notesToMove(notes), moved };
    const shown = title === undefined ? {} : { title: isShare ? maskWhole(title) : title };
    const session = { id, agent, created, updated, parent, notes: kept, usage, ...shown };
    const inside = relative(top, site?.folder ?? cwd);
    const place = work === undefined ? {} : { work, name: basename(top), inside, top };
    const head = { from: hostname(), session, ...place };
    return { digest: await writeBundle(path, head, sources), work, moved };
  }

  #agentFiles({ agent, notes }: Pick<SessionRecord, "agent" | "notes">): AgentFiles {
    const { agents, env } = this.#options;
    const { sessionId } = (notes.memory ?? {}) as { readonly sessionId?: unknown };
    return new AgentFiles(agents[agent] ?? { command: "" }, sessionId, env);
  }

  /** Step 1 and 2 at the source: nobody opens the session any more, and all of it is in a file. */
  async leave(record: SessionRecord, leaving: Leaving): Promise<Left> {
    const { move, to, key, haves, withSecrets, patience } = leaving;
    const { id } = record;
    if (record.notes.run !== undefined) {
      throw new TrunklineError("usage", `Session '${id}' is a remote run, which does not move.`);
    }
    if (this.#siteOf(record) === undefined) {
      const why = `its folder '${workingFolder(record)}' is in no git repository`;
      const next = "Run `git init` there, or take the conversation alone: trunkline session export";
      throw new TrunklineError("usage", `Cannot move session '${id}': ${why}. ${next}.`);
    }
    const until = patience === undefined ? undefined : Date.now() + patience;
    const epoch = await this.moves.begin(id, move, { to, key }, until);
    const folder = this.#folderOf(move);
    const path = `${folder}.bundle`;
    try {
      const { digest, work, moved } = await this.#bundle(record, {
        folder,
        path,
        haves,
        withSecrets,
      });
      const again = patience === undefined ? undefined : Date.now() + patience;
      const facts = { digest, work, carried: moved.carried };
      if (!(await this.moves.note(id, move, facts, again))) throw givenUp(id);
      return { epoch, digest, path };
    } catch (error) {
      await this.giveUp(id, move);
      throw error;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  /** Step 3 at the source: the tombstone. Returns the grant, also when it is asked again. */
  async decide(session: string, move: string, digest: string): Promise<string> {
    const out = await this.moves.find(session, "out");
    if (out?.move !== move || out.facts.digest !== digest) throw givenUp(session);
    if (out.state === "moved") return String(out.facts.grant);
    const key = await this.hostKey();
    const grant = key.grant({
      session,
      move,
      epoch: out.epoch,
      digest,
      target: String(out.facts.key),
    });
    if (!(await this.moves.depart(session, move, { grant }))) {
      const now = await this.moves.find(session, "out");
      if (now?.move === move && now.state === "moved") return String(now.facts.grant);
      throw givenUp(session);
    }
    return grant;
  }

  /** The other side runs the session: what was sent is not needed any more. */
  async arrivedThere(session: string, move: string): Promise<void> {
    await this.moves.note(session, move, { isThere: true });
    await rm(`${this.#folderOf(move)}.bundle`, { force: true });
  }

  async giveUp(session: string, move: string): Promise<void> {
    const isAborted = await this.moves.abort(session, move);
    if (!isAborted) return;
    const folder = this.#folderOf(move);
    if ((await this.#options.log.find(session)) === undefined) {
      await rm(folderOf(this.#options.data, session), { recursive: true, force: true });
    }
    await rm(folder, { recursive: true, force: true });
    await rm(`${folder}.bundle`, { force: true });
  }

  bundlePath(move: string): string {
    return `${this.#folderOf(move)}.bundle`;
  }

  /** Step 2 at the target: everything is checked, and nothing of it runs. Returns the digest: "ready". */
  async receive(coming: Coming, input: AsyncIterable<Buffer>): Promise<string> {
    const { session, move, epoch, key, agent, owner, isOwn: isTrusted } = coming;
    if (!ID.test(session)) throw refusal("its id is none that Trunkline makes");
    this.needAgent(agent);
    const { log } = this.#options;
    const record = await log.find(session);
    const isBack = record !== undefined && !record.isDeleted;
    const out = await this.moves.find(session, "out");
    // Only the host that it went to brings it back.
    if (isBack && out?.state === "moved" && out.facts.key !== key) {
      throw refusal(`it went to ${String(out.facts.to)}, and comes from another machine`);
    }
    if (isBack && ((record.notes.owner as string | undefined) ?? "") !== owner) {
      throw new TrunklineError("not-found", `There is no session '${session}'.`);
    }
    await this.moves.accept(session, move, epoch, { key, owner, isTrusted });
    try {
      const folder = this.#folderOf(move);
      const bundle = await readBundle(input, folder);
      if (headOf(bundle).id !== session) throw refusal("it is another session");
      await this.#check(session, bundle, isBack ? record : undefined);
      const { head, files, digest } = bundle;
      await replaceFile(join(folder, "head.json"), JSON.stringify({ head, files: [...files] }));
      if (!(await this.moves.note(session, move, { digest }))) throw givenUp(session);
      return digest;
    } catch (error) {
      await this.giveUp(session, move);
      throw error;
    }
  }

  /** Checks everything of a bundle, and takes its objects. */
  async #check(id: string, { head, files }: OpenedBundle, back: SessionRecord | undefined) {
    const events = files.get("events");
    if (events === undefined) throw refusal("it has no conversation");
    const known = await digestOfEvents(this.#options.log, back === undefined ? "" : id).catch(
      () => NONE,
    );
    const { digest, last } = await readEvents(events, known.last);
    if (last < known.last || (known.last > 0 && digest !== known.digest)) {
      throw refusal("what was said here is not in it");
    }
    if (head.work === undefined) return;
    const work = readWork(head.work);
    const { top, isOurs } = this.#placeFor(id, head, back);
    const git = this.#git(top);
    if (isOurs) {
      await mkdir(folderOf(this.#options.data, id), { recursive: true, mode: 0o700 });
      // Otherwise the next start would put the folder away, since no session has it yet.
      await writeFile(join(folderOf(this.#options.data, id), INCOMING), "");
      await makeRepository(git, work);
    }
    await takeObjects(git, id, work, files.get("work.pack"));
  }

  /** The work tree that a session gets, or had, and the folder in it. */
  #placeFor(
    id: string,
    head: OpenedBundle["head"],
    back: SessionRecord | undefined,
  ): { readonly top: string; readonly folder: string; readonly isOurs: boolean } {
    const site = back && this.#siteOf(back);
    if (site !== undefined && back !== undefined) return { ...site, isOurs: isOwn(back) };
    const name = String(head.name ?? "").replaceAll(/[^A-Za-z0-9_-]/g, "-");
    const top = join(folderOf(this.#options.data, id), `work-${name.slice(0, 60)}`);
    const inside = String(head.inside ?? "");
    const isPlain = inside.split("/").every((part) => part !== ".." && !part.includes("\0"));
    if (!isPlain || inside.startsWith("/")) throw refusal(`its folder '${inside}' is elsewhere`);
    return { top, folder: join(top, inside), isOurs: true };
  }

  /** Step 4 at the target: with the grant of the source, the session is here. It can be repeated. */
  async activate(session: string, move: string, grant: string, by = OWNER.id): Promise<Arrived> {
    const { log } = this.#options;
    const coming = await this.moves.find(session, "in");
    if (coming?.move !== move || coming.facts.owner !== by) throw givenUp(session);
    const record = await log.find(session);
    if (coming.state === "active" && record !== undefined) {
      return { id: session, folder: workingFolder(record), says: [] };
    }
    const { key, digest, owner, isTrusted } = coming.facts as Readonly<Record<string, string>>;
    const target = (await this.hostKey()).public;
    const terms: GrantTerms = { session, move, epoch: coming.epoch, digest: digest ?? "", target };
    if (digest === undefined || !isGranted(terms, key ?? "", grant)) {
      throw refusal("the other side has not signed that it may run here");
    }
    const folder = this.#folderOf(move);
    const stored = JSON.parse(await readFile(join(folder, "head.json"), "utf8")) as {
      readonly head: OpenedBundle["head"];
      readonly files: readonly (readonly [string, string])[];
    };
    const bundle = { head: stored.head, files: new Map(stored.files), digest };
    const back = record === undefined || record.isDeleted ? undefined : record;
    const arrived = await this.#arrive(session, bundle, {
      ...{ owner: owner ?? "", back, move },
      isTrusted: Boolean(isTrusted),
    });
    await rm(folder, { recursive: true, force: true });
    return arrived;
  }

  async #arrive(
    id: string,
    { head, files }: OpenedBundle,
    { owner, back, move, isTrusted }: Arrival,
  ): Promise<Arrived> {
    const { data, log } = this.#options;
    const { agent, title, created, updated, notes, usage } = headOf({ head });
    const kept = readNotes(notes);
    const moved = readMoved(kept.moved) ?? { folders: [], carried: [] };
    const known = back === undefined ? NONE : await digestOfEvents(log, id);
    const { pages } = await readEvents(files.get("events") ?? "", known.last);
    const { place, folder, top, says } = await this.#put(id, head, back, moved);
    const from = typeof head.top === "string" ? head.top : "";
    if (from !== "") await putUndoFiles(data, id, files, { from, to: top });
    const isBuiltIn = agent === BUILT_IN;
    const own = this.#agentFiles({ agent, notes: kept });
    // A copy from a file must not write to the agent's session that the original uses.
    const isLoaded = isBuiltIn || (move !== undefined && (await own.put(files, folder)));
    const { chosen: theirs, ...others } = kept;
    const chosen = isTrusted ? theirs : chosenHere(theirs, back?.notes.chosen);
    // The built-in agent remembers there what was typed.
    const isTyped = isBuiltIn && !isTrusted;
    const memory = isTyped ? chosenHere(kept.memory, back?.notes.memory) : kept.memory;
    const all = {
      ...others,
      ...(owner === OWNER.id ? {} : { owner }),
      memory: isLoaded ? memory : undefined,
      ...(chosen === undefined ? {} : { chosen }),
      ...(place === undefined ? {} : { worktree: place }),
      directories: [],
      moved: { ...moved, folders: moved.folders.filter((one) => one !== top) },
    };
    const cwd = back?.cwd ?? (head.work === undefined ? data : folder);
    const parent = move === undefined ? headOf({ head }).id : back?.parent;
    await this.moves.arrive(move, {
      ...{ id, cwd, agent, title, created, updated, parent, notes: all, pages, usage },
    });
    await rm(join(folderOf(data, id), INCOMING), { force: true });
    const mode = modeOf(theirs);
    const isOther = !isTrusted && mode !== undefined && mode !== modeOf(chosen);
    const asks = `Its mode was '${mode}' there. Choose it again if you want it here.`;
    const forgets = `Agent '${agent}' does not know its session here: it gets the conversation as text.`;
    return {
      id,
      folder,
      says: [...says, ...(isLoaded ? [] : [forgets]), ...(isOther ? [asks] : [])],
    };
  }

  /** Puts the work of an arriving session where it belongs. */
  async #put(
    id: string,
    head: OpenedBundle["head"],
    back: SessionRecord | undefined,
    { carried }: Moved,
  ): Promise<{ place: Workplace | undefined; folder: string; top: string; says: string[] }> {
    const { top, folder, isOurs } = this.#placeFor(id, head, back);
    const own = back && workplaceOf(back.notes);
    if (head.work === undefined) return { place: own, folder, top, says: [] };
    const work = readWork(head.work);
    const git = this.#git(top);
    if (!isOurs) {
      const { facts } = (await this.moves.find(id, "out")) as StoredMove;
      const left = readWork(facts.work);
      const sent = (facts.carried ?? []) as string[];
      const beside = folderOf(this.#options.data, id);
      const all = [...new Set([...carried, ...sent])];
      const taken = await takeBack(git, { session: id, left, work, carried: all, beside, folder });
      const { place = own, says } = taken;
      return { place, folder: place?.folder ?? folder, top: place?.tree ?? top, says };
    }
    await layOut(git, work);
    await mkdir(folder, { recursive: true });
    const place: Workplace = {
      ...{
        folder,
        tree: top,
        repository: top,
        branch: work.branch,
        isOwnBranch: false,
        warnings: [],
      },
      base: { revision: work.head },
    };
    return { place, folder, top, says: [] };
  }

  /** Makes a new session of a file. */
  async import(path: string): Promise<Arrived> {
    const folder = this.#folderOf(crypto.randomUUID());
    const id = crypto.randomUUID();
    try {
      const bundle = await readBundle(createReadStream(path) as AsyncIterable<Buffer>, folder);
      this.needAgent(headOf(bundle).agent);
      await this.#check(id, bundle, undefined);
      return await this.#arrive(id, bundle, { owner: OWNER.id, isTrusted: false });
    } catch (error) {
      await rm(folderOf(this.#options.data, id), { recursive: true, force: true });
      throw error;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

const NONE = { last: 0, digest: "" };

interface Chosen {
  readonly modeId?: string;
  readonly modelId?: string;
}

function modeOf(chosen: unknown): string | undefined {
  return ((chosen ?? {}) as Chosen).modeId;
}

/** A mode may let an agent work without asking, so only a person of this machine chooses it here. */
function chosenHere(theirs: unknown, ours: unknown): object {
  const { modelId } = (theirs ?? {}) as Chosen;
  return { ...(ours as object | undefined), ...(modelId === undefined ? {} : { modelId }) };
}

/** Whether a session works in a repository that was made for it here. */
function isOwn({ notes }: Pick<SessionRecord, "notes">): boolean {
  const place = workplaceOf(notes);
  return place !== undefined && place.repository === place.tree;
}

function givenUp(session: string): TrunklineError {
  const says = `The move of session '${session}' was given up. Try again.`;
  return new TrunklineError("conflict", says);
}

const TURN = ["tokens", "cost", "steps", "time"] as const;

/** What a bundle says of its session. */
function headOf({ head }: Pick<OpenedBundle, "head">) {
  const { id, agent, title, created, updated, notes, usage } = (head.session ?? {}) as Readonly<
    Record<string, unknown>
  >;
  const areTexts = [id, agent, title ?? ""].every((each) => typeof each === "string");
  const areTimes = [created, updated].every((each) => Number.isSafeInteger(each));
  if (!areTexts || !areTimes || !ID.test(String(id)) || !Array.isArray(usage)) {
    throw refusal("what it says of its session is none that Trunkline writes");
  }
  return {
    id: String(id),
    agent: String(agent),
    title: title as string | undefined,
    created: Number(created),
    updated: Number(updated),
    notes,
    usage: usage.map((each: unknown) => {
      const { turn, day, reportedCost, ...amounts } = (each ?? {}) as Readonly<
        Record<string, unknown>
      >;
      const areNumbers = TURN.every((name) => Number.isFinite(amounts[name]));
      if (typeof turn !== "string" || typeof day !== "string" || !areNumbers) {
        throw refusal("what it says of its budget is none that Trunkline writes");
      }
      const [tokens, cost, steps, time] = TURN.map((name) =>
        Math.max(0, Number(amounts[name])),
      ) as [...[number, number, number, number]];
      const reported = typeof reportedCost === "number" ? reportedCost : undefined;
      return { turn, day, tokens, cost, steps, time, reportedCost: reported };
    }),
  };
}

import {
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { rm } from "node:fs/promises";
import { dirname, join, relative, sep } from "node:path";

import { attempt } from "../../base/attempt.ts";
import { TaskQueue } from "../../base/limit/task-queue.ts";
import { diskWords, TrunklineError } from "../../base/errors.ts";
import { isInside } from "../../base/file/path.ts";
import type { ChildOptions } from "../../base/process/child-process.ts";
import { Git } from "../git.ts";
import { dropIncoming, isOwnerGone, ownerName } from "./apply-plan.ts";
import { copyTree, fileIn, isFolder, MOST_INDEX, textIn } from "./git-files.ts";
import { knownRepositories, type KnownRepository, repositoryAt } from "./known-repositories.ts";
import { newIncoming } from "./receive-objects.ts";
import {
  copyShadow,
  digestOf,
  makeShadow,
  type Mount,
  mountsOf,
  openShadow,
  type Shadow,
  writeBase,
} from "./shadow-folder.ts";
import { takeOver } from "./take-over.ts";
import { GITLINK, parseIndex } from "../index-entries.ts";

interface ShadowGitOptions {
  /** A folder of ours, which commands do not see. */
  readonly data: string;
  /** The folders of the session. */
  readonly folders: readonly string[];
  /** Has a program start in the sandbox, with these mounts. */
  readonly confine: (program: ChildOptions, mounts: readonly Mount[]) => ChildOptions;
}

/** The git folders that one command works in. */
interface ShadowVisit {
  readonly mounts: readonly Mount[];
  /** Repositories that it can only read, each with the reason. */
  readonly limits: readonly string[];
  /** Takes over what the command did. Returns what was not taken over, in words. */
  end(): Promise<string[]>;
}

/** The most repositories that a command gets git folders for. */
const MOST_SHADOWS = 16;
/** The most notes after one command. */
const MOST_NOTES = 12;

/**
 * The repositories of a session, whose git folders commands do not write to. Each command gets git folders
 * of its own in their place, and what it has done in them is checked and taken over when it has ended.
 */
export class ShadowGit {
  readonly #options: ShadowGitOptions;
  readonly #places: GitPlaces;
  readonly #indexes = new IndexFactsCache();
  #repositories: readonly KnownRepository[];
  /** Commands begin and end one after the other, so that each sees what the last one did. */
  readonly #queue = new TaskQueue();

  private constructor(options: ShadowGitOptions, repositories: readonly KnownRepository[]) {
    this.#options = options;
    this.#repositories = repositories;
    const empty = join(options.data, "empty");
    mkdirSync(empty, { recursive: true, mode: 0o500 });
    this.#places = new GitPlaces(options.folders, empty, this.#indexes);
  }

  static async open(options: ShadowGitOptions): Promise<ShadowGit> {
    mkdirSync(options.data, { recursive: true, mode: 0o700 });
    const folders = options.folders.map((folder) => realpathSync.native(folder));
    return new ShadowGit({ ...options, folders }, await knownRepositories(folders));
  }

  enter(): Promise<ShadowVisit> {
    return this.#queue.run(() => this.#enter());
  }

  async #enter(): Promise<ShadowVisit> {
    const notes: string[] = [];
    const limits: string[] = [];
    const mounts: Mount[] = [];
    const shadows: Shadow[] = [];
    const shared = new Set<string>();
    for (const repository of this.#repositories) {
      const why =
        repository.problem ??
        this.#indexes.read(repository.gitDir).problem ??
        (shared.has(repository.commonDir)
          ? "another folder of the session shares it"
          : shadows.length >= MOST_SHADOWS
            ? `the session has more than ${MOST_SHADOWS} repositories. Begin one in its folder`
            : undefined);
      const shadow = why === undefined ? await this.#shadowOf(repository, notes) : why;
      if (typeof shadow === "string") {
        limits.push(`the repository '${repository.top}' can only be read: ${shadow}`);
        mounts.push(...this.#readOnly(repository, shared));
        continue;
      }
      shared.add(repository.commonDir);
      shadows.push(shadow);
      mounts.push(...mountsOf(shadow));
    }
    const places = this.#places.look(this.#repositories, shadows);
    mounts.push(...places.mounts);
    return {
      mounts,
      limits,
      end: () =>
        this.#queue.run(async () => {
          for (const shadow of shadows) notes.push(...(await this.#end(shadow)));
          notes.push(...places.check());
          for (const made of places.made()) notes.push(...(await this.#takeMade(made)));
          if (places.isMoved) this.#repositories = await knownRepositories(this.#options.folders);
          return [...new Set(notes)].slice(0, MOST_NOTES);
        }),
    };
  }

  /** A shadow for the next command, or why there is none. */
  async #shadowOf(repository: KnownRepository, notes: string[]): Promise<Shadow | string> {
    const left = await this.#finishOthers(repository, notes);
    const work = this.#newWork(repository.gitDir);
    try {
      return left === undefined ? makeShadow(repository, work) : copyShadow(left, work);
    } catch (error) {
      await rm(work, { recursive: true, force: true });
      return (error as Error).message;
    }
  }

  #newWork(gitDir: string): string {
    const work = join(this.#options.data, digestOf(gitDir), `${COMMAND}${ownerName()}`);
    mkdirSync(work, { recursive: true, mode: 0o700 });
    return work;
  }

  /** Takes over what commands have left. Returns the last one whose operation is unfinished. */
  async #finishOthers(repository: KnownRepository, notes: string[]): Promise<Shadow | undefined> {
    const folder = join(this.#options.data, digestOf(repository.gitDir));
    if (!existsSync(folder)) return undefined;
    let unfinished: Shadow | undefined;
    for (const name of readdirSync(folder).filter(isLeft).toSorted()) {
      const work = join(folder, name);
      const shadow = attempt(() => openShadow(work));
      if (shadow === undefined) {
        // The process was killed before the command started.
        await rm(work, { recursive: true, force: true });
        continue;
      }
      const { state, words } = await this.#takeOver(shadow);
      if (state !== "unfinished") notes.push(...words);
      if (state === "done") await rm(work, { recursive: true, force: true });
      if (state === "unfinished") {
        if (unfinished !== undefined) await rm(unfinished.work, { recursive: true, force: true });
        unfinished = shadow;
      }
    }
    return unfinished;
  }

  async #takeOver(
    shadow: Shadow,
  ): Promise<{ state: "done" | "unfinished" | "failed"; words: readonly string[] }> {
    try {
      const mounts = mountsOf(shadow);
      const confine = (program: ChildOptions) => this.#options.confine(program, mounts);
      const { state, notes } = await takeOver(shadow, confine);
      return { state, words: notes };
    } catch (error) {
      const { message } = error as Error;
      const isFinal = !isTemporary(error);
      const { top, commonDir } = shadow.repository;
      if (isFinal) await dropIncoming(top, commonDir, shadow.base.incoming).catch(() => {});
      const next = isFinal ? "It is lost" : "It is tried again with the next command";
      const words = [`what it did in '${top}' is not taken over: ${message}. ${next}`];
      return { state: isFinal ? "done" : "failed", words };
    }
  }

  async #end(shadow: Shadow): Promise<readonly string[]> {
    const { state, words } = await this.#takeOver(shadow);
    const { work, adopted } = shadow;
    if (state === "done") await rm(work, { recursive: true, force: true });
    else renameSync(work, join(work, "..", `left-${Date.now()}-${crypto.randomUUID()}`));
    if (adopted !== undefined) await rm(adopted, { recursive: true, force: true });
    return words;
  }

  /** Takes over a repository that a command has made in a folder of the session. */
  async #takeMade(top: string): Promise<readonly string[]> {
    const work = this.#newWork(join(top, ".git"));
    try {
      const made = await moveMade(top, work);
      this.#repositories = [...this.#repositories, made.repository];
      return await this.#end(made);
    } catch (error) {
      const { message } = error as Error;
      return [`the repository in '${top}' is not taken over, and kept in '${work}': ${message}`];
    }
  }

  #readOnly(repository: KnownRepository, shared: ReadonlySet<string>): Mount[] {
    const { top, gitDir, commonDir, pointer, led = [] } = repository;
    // Only what commands see anyway: a planted `.git` could name any folder, to have it shown.
    const isSeen = (path: string): boolean =>
      this.#options.folders.some((folder) => path !== folder && isInside(path, folder)) &&
      ![...shared].some((folder) => isInside(path, folder));
    const named = new Set([commonDir, gitDir, ...led.filter(isSeen)]);
    const folders = [...named.difference(shared)].filter(isFolder);
    const mounts = folders.map((folder) => ({ at: folder, from: folder, isWritable: false }));
    if (pointer === undefined) return mounts;
    const copy = join(this.#options.data, `pointer-${digestOf(top)}`);
    writeFileSync(copy, pointer, "latin1");
    return [...mounts, { at: join(top, ".git"), from: copy, isWritable: false }];
  }
}

/** Whether a retry may help: the disk is full, or another git holds a lock. */
function isTemporary(error: unknown): boolean {
  if (error instanceof TrunklineError) return ["unavailable", "conflict"].includes(error.code);
  return diskWords(error) !== undefined;
}

/** Whether the command of a folder has ended. */
function isLeft(name: string): boolean {
  if (!name.startsWith(COMMAND)) return name.startsWith("left-");
  return isOwnerGone(name.slice(COMMAND.length));
}

const COMMAND = "command-";

/**
 * Moves away the git folder of a repository that a command has made, and makes an empty one in its place,
 * with our settings only. The moved one is the shadow from which it is filled.
 */
async function moveMade(top: string, work: string): Promise<Shadow> {
  const path = join(top, ".git");
  const aside = join(top, `.git-made-${crypto.randomUUID().slice(0, 8)}`);
  const common = join(work, "common");
  renameSync(path, aside);
  if (!lstatSync(aside).isDirectory()) {
    throw new TrunklineError("untrusted", `its .git is not a folder. It is now '${aside}'`);
  }
  try {
    renameSync(aside, common);
  } catch {
    // It is on another file system.
    mkdirSync(common, { recursive: true });
    copyTree(aside, common);
    await rm(aside, { recursive: true, force: true });
  }
  const init = ["init", "--quiet", "--template=", "--object-format=sha1", "."];
  await new Git(top).run(init, { mode: "files" });
  const repository = repositoryAt(top);
  if (repository === undefined) throw new TrunklineError("unavailable", "git made no repository");
  const refs = { ids: new Map(), symbolic: new Map() };
  const head = textIn(path, "HEAD")?.trim() ?? "";
  const none = { stash: "", files: {}, logSize: 0, operations: [] };
  const empty = { ...none, refs, head, incoming: newIncoming() };
  writeBase(work, repository, empty);
  const made = { repository, work, common, own: common, base: empty };
  return { ...made, before: new Map(), isAdopted: false };
}

/** Opens a folder, and no link. */
const FOLDER = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;
/** A snapshot, from before a command, of the places where git looks for a repository. */
interface PlacesBefore {
  readonly mounts: readonly Mount[];
  /** Moves aside files that a command has put in the place of a repository. Returns what it did, in words. */
  check(): string[];
  /** Folders of the session in which a command has made a repository. */
  made(): string[];
  /** Whether a repository was moved or removed. */
  readonly isMoved: boolean;
}

/** The file, folder or link at the path of a `.git`. */
interface GitPathEntry {
  readonly identity: string | undefined;
  /** Where it leads to, if it is a link. */
  readonly link: string | undefined;
}

/** The places where the person's git, or ours, looks for a repository. */
class GitPlaces {
  readonly #folders: readonly string[];
  /** An empty folder. */
  readonly #empty: string;
  readonly #indexes: IndexFactsCache;

  constructor(folders: readonly string[], empty: string, indexes: IndexFactsCache) {
    this.#folders = folders;
    this.#indexes = indexes;
    this.#empty = empty;
  }

  look(repositories: readonly KnownRepository[], shadows: readonly Shadow[]): PlacesBefore {
    const known = new Map(repositories.map(({ top }) => [top, this.#placeAt(top)]));
    const empty = shadows.flatMap((shadow) => this.#emptySubmodules(shadow));
    const isThere = (folder: string): boolean => this.#placeAt(folder)?.identity !== undefined;
    const free = this.#folders.filter((folder) => !isThere(folder));
    // A quick check first. It follows links, so its result is only a hint.
    const isTaken = (folder: string): boolean =>
      lstatSync(join(folder, ".git"), { throwIfNoEntry: false }) !== undefined && isThere(folder);
    const tracked = this.#trackedFolders(repositories).filter((folder) => !isTaken(folder));
    let isMoved = false;
    return {
      // Git would enter a repository there.
      mounts: empty
        .filter((at) => lstatSync(at, { throwIfNoEntry: false })?.isDirectory() === true)
        .map((at) => ({ at, from: this.#empty, isWritable: false })),
      get isMoved() {
        return isMoved;
      },
      made: () => free.filter(isThere),
      check: () => {
        const notes: string[] = [];
        for (const [top, before] of known) {
          const now = this.#placeAt(top);
          if (now?.identity === before?.identity) continue;
          isMoved = true;
          if (now?.identity !== undefined) notes.push(this.#setAside(top));
          if (before?.link !== undefined) this.#restore(top, before.link);
        }
        const planted = [...empty.filter(isThere), ...tracked.filter(isTaken)];
        for (const top of new Set(planted)) notes.push(this.#setAside(top));
        return notes;
      },
    };
  }

  /** Paths of submodules that are not checked out, in folders that commands can write. */
  #emptySubmodules({ repository: { top, gitDir } }: Shadow): string[] {
    const paths = this.#indexes.read(gitDir).gitlinks.map((path) => join(top, path));
    return paths.filter((path) => {
      return this.#rootOf(path) !== undefined && this.#placeAt(path)?.identity === undefined;
    });
  }

  /** Folders with tracked files that commands can write. The person uses git in them too. */
  #trackedFolders(repositories: readonly KnownRepository[]): string[] {
    return repositories
      .flatMap(({ top, gitDir, led: [found = gitDir] = [] }) =>
        isFolder(found) ? this.#indexes.read(found).folders.map((path) => join(top, path)) : [],
      )
      .filter((path) => this.#rootOf(path) !== undefined && !this.#folders.includes(path));
  }

  #rootOf(path: string): string | undefined {
    return this.#folders.find((folder) => path === folder || path.startsWith(folder + sep));
  }

  /** Undefined if a folder of the path is missing, or was replaced by a link. */
  #placeAt(top: string): GitPathEntry | undefined {
    return this.#within(top, (folder) => {
      const path = join(folder, ".git");
      const stats = lstatSync(path, { throwIfNoEntry: false });
      if (stats === undefined) return { identity: undefined, link: undefined };
      const link = stats.isSymbolicLink() ? readlinkSync(path) : undefined;
      return { identity: `${stats.dev} ${stats.ino} ${link ?? ""}`, link };
    });
  }

  /** Under a name that git does not look for. */
  #setAside(top: string): string {
    const name = `.git-set-aside-${crypto.randomUUID().slice(0, 8)}`;
    const isDone = this.#within(top, (folder) => {
      renameSync(join(folder, ".git"), join(folder, name));
      return true;
    });
    const what = `a repository that the command put into '${top}'`;
    const why = "your own git would go into it";
    return isDone === true
      ? `${what} is now '${name}' there: ${why}`
      : `${what} is left: remove it`;
  }

  #restore(top: string, link: string): void {
    this.#within(top, (folder) => symlinkSync(link, join(folder, ".git")));
  }

  /** Calls back with a path of the folder that follows no link, and stays valid if a command moves it. */
  #within<T>(top: string, use: (folder: string) => T): T | undefined {
    const root = this.#rootOf(top);
    // Commands cannot change folders above those of the session.
    const steps = root === undefined ? [] : relative(root, top).split(sep).filter(Boolean);
    let folder: number | undefined;
    try {
      folder = openSync(root ?? top, FOLDER);
      for (const step of steps) {
        const next = openSync(`/proc/self/fd/${folder}/${step}`, FOLDER);
        closeSync(folder);
        folder = next;
      }
      return use(`/proc/self/fd/${folder}`);
    } catch {
      return undefined;
    } finally {
      if (folder !== undefined) closeSync(folder);
    }
  }
}

/** The facts about an index that are needed before a command. */
interface IndexFacts {
  /** Paths of submodules. */
  readonly gitlinks: readonly string[];
  /** Paths of the folders that its files are in, without its top. */
  readonly folders: readonly string[];
  /** Why changes that a command makes to it could not be taken over. */
  readonly problem: string | undefined;
}

/** Cached indexes, read again when git has written a new one: an index of 20,000 files is slow to read. */
class IndexFactsCache {
  readonly #known = new Map<string, IndexFacts & { readonly version: string }>();

  read(gitDir: string): IndexFacts {
    const stats = lstatSync(join(gitDir, "index"), { bigint: true, throwIfNoEntry: false });
    // Not the time of its last change, which a link to it sets too.
    const { ino = 0n, size = 0n, mtimeNs = 0n } = stats ?? {};
    const version = `${ino} ${size} ${mtimeNs}`;
    const known = this.#known.get(gitDir);
    if (known?.version === version) return known;
    const found = { ...look(gitDir), version };
    this.#known.set(gitDir, found);
    return found;
  }
}

function look(gitDir: string): IndexFacts {
  try {
    const entries = [...parseIndex(fileIn(gitDir, "index", MOST_INDEX)).values()];
    const gitlinks = entries.filter(({ mode }) => mode === GITLINK).map(({ path }) => path);
    const folders = new Set<string>();
    for (const { path } of entries) {
      let at = dirname(path);
      for (; at !== "." && !folders.has(at); at = dirname(at)) folders.add(at);
    }
    const named = (path: string): string => Buffer.from(path, "latin1").toString("utf8");
    return {
      gitlinks: gitlinks.map(named),
      folders: Array.from(folders, named),
      problem: undefined,
    };
  } catch (error) {
    return {
      gitlinks: [],
      folders: [],
      problem: `its index cannot be read: ${(error as Error).message}`,
    };
  }
}

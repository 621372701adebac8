import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, readdir, readFile, rm, stat, utimes } from "node:fs/promises";
import { basename, join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import type { ResolveHost } from "../../git/server/pin-connection.ts";
import { ServerGit } from "../../git/server/server-git.ts";
import { FileLock } from "../../store/file-lock.ts";
import { replaceFile } from "../../store/replace-file.ts";
import type { Layer, Layers } from "../environment/layers.ts";
import type { CachedRepository } from "../repository-cache.ts";
import type { Base, Bases } from "./bases.ts";
import { giveTo, removeTree } from "./copy.ts";
import type { FileOwner, WorkspaceDriver } from "./driver.ts";
import { type GitFolderFacts, writeGitFolder } from "./git-folder.ts";
import { giveFiles } from "./give-files.ts";
import {
  type Hibernation,
  keepFiles,
  readTreeFrom,
  removeIndexes,
  removeStaleLocks,
  restoreFiles,
} from "./hibernate.ts";
import { diskUse } from "./disk-use.ts";

export interface WorkspaceRequest {
  readonly session: string;
  readonly repository: CachedRepository;
  /** The commit that work begins with. */
  readonly revision: string;
  /** The branch that is worked on. */
  readonly branch: string;
  readonly owner: FileOwner | undefined;
  /** What set-up has left, which it stands on beside its base. */
  readonly layer?: Pick<Layer, "id" | "tree" | "home"> | undefined;
  /** Patterns, as in .gitignore, of what is never committed. */
  readonly keep?: readonly string[] | undefined;
}

export interface WorkspacesOptions {
  readonly folder: string;
  readonly bases: Bases;
  readonly layers?: Layers | undefined;
  /** Hears of the workspace of a set-up that was broken off, once it is removed. */
  readonly abandoned?: (session: string) => Promise<void>;
  readonly driver: WorkspaceDriver;
  readonly askpass: string;
  readonly protocols?: readonly string[];
  readonly resolve?: ResolveHost | undefined;
}

/** What is stored about a workspace beside its files. */
interface Facts {
  readonly base: string;
  readonly repository: string;
  readonly driver: WorkspaceDriver["name"];
  readonly layer?: string | undefined;
  /** The tree is not on disk: its files are in a commit of the git folder. */
  readonly isAway?: boolean;
}

/** Milliseconds that opening waits for a workspace that is just being put away. */
const OPEN_WAIT = 60_000;
/** Bytes of a closed workspace that are left as they are: it comes back at once. */
const SMALL = 4 * 1024 * 1024;

/** The workspaces of sessions: one tree each, with our own git folder outside of it. */
export class Workspaces implements AsyncDisposable {
  readonly #options: WorkspacesOptions;
  #sweeping: Promise<void> = Promise.resolve();
  #isOver = false;
  /** Closed workspaces that `hibernate` has looked at, and in which state. */
  readonly #looked = new Map<string, string>();

  constructor(options: WorkspacesOptions) {
    this.#options = options;
  }

  /** Creates a workspace, or opens the session's existing one. */
  async open(request: WorkspaceRequest): Promise<Workspace> {
    const { session, repository, revision, owner, layer } = request;
    const { driver, bases } = this.#options;
    const folder = join(this.#options.folder, session);
    await mkdir(folder, { recursive: true, mode: 0o711 });
    using opening = new DisposableStack();
    opening.use(await FileLock.take(join(folder, LOCK), OPEN_WAIT));
    const facts = await readFacts(folder);
    const isNew = facts === undefined;
    if (facts?.isAway === true) await this.#removeTree(folder);
    else if (!isNew) this.#checkDriver(facts);
    const base = isNew
      ? await bases.near(repository, revision)
      : await bases.exactly(repository, facts.base);
    const tree = await driver.open({
      layers: layer === undefined ? [base.tree] : [layer.tree, base.tree],
      folder,
      owner,
    });
    const home = await this.#openHome(folder, request);
    const git = this.#git(join(folder, "git"), tree);
    const lock = opening.move();
    const workspace = new Workspace({
      folder,
      tree,
      home,
      git,
      isNew,
      close: () => this.#close(request, folder, lock),
    });
    try {
      if (facts === undefined) await this.#begin(request, base, workspace);
      else await this.#continue(request, base, workspace, facts);
    } catch (error) {
      await workspace.close();
      if (isNew) await rm(folder, { recursive: true, force: true });
      throw error;
    }
    return workspace;
  }

  /**
   * Puts closed workspaces away: their files are kept as a commit, and their trees are removed. Files
   * that git ignores are not in the commit. A workspace that has some stays until it was closed for
   * `after` milliseconds, and so does a small one, which comes back sooner as it is.
   */
  async hibernate({ after, repositoryOf, stop, failed }: Hibernation): Promise<void> {
    for (const { path: folder, facts } of await this.#all()) {
      if (stop.signal.aborted) return;
      if (facts === undefined || facts.isAway === true || !this.#isOurs(facts)) continue;
      if (SETUP.test(basename(folder))) continue;
      const closed = (await stat(join(folder, FACTS))).mtimeMs;
      const isLong = Date.now() - closed >= after;
      // What was found once is so until the workspace was opened again, or was closed for long.
      const found = `${closed} ${isLong}`;
      if (this.#looked.get(folder) === found || FileLock.isTaken(join(folder, LOCK))) continue;
      this.#looked.set(folder, found);
      try {
        using _ = await FileLock.take(join(folder, LOCK));
        if (!isLong && (await diskUse(folder)) <= SMALL) continue;
        await this.#putAway(folder, repositoryOf(facts.repository), isLong);
      } catch (error) {
        failed(basename(folder), error);
      }
    }
  }

  /** Releases the trees of killed processes. Their changes are kept. */
  sweep(): Promise<void> {
    this.#sweeping = this.#sweep();
    return this.#sweeping;
  }

  async #sweep(): Promise<void> {
    await this.#options.bases.sweep();
    for (const { path } of await this.#all()) {
      if (this.#isOver) return;
      if (FileLock.isTaken(join(path, LOCK))) continue;
      using _ = await FileLock.take(join(path, LOCK));
      await this.#letGo(path);
      // Nobody goes on with a set-up that was broken off.
      if (!SETUP.test(basename(path))) continue;
      await removeTree(path);
      await this.#options.abandoned?.(basename(path));
    }
  }

  /** Ends what it does by itself; the driver is free afterwards. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#sweeping.catch(() => {});
  }

  /** A name for the workspace of a set-up, which is removed where its process was killed. */
  newSetupName(): string {
    return `setup${randomBytes(8).toString("hex")}`;
  }

  /** The layer that a session's workspace was begun with. Null where it was begun without. */
  async layerOf(session: string): Promise<string | null | undefined> {
    const facts = await readFacts(join(this.#options.folder, session));
    return facts === undefined ? undefined : (facts.layer ?? null);
  }

  /** Removes a session's workspace completely. */
  async remove(session: string, repository: CachedRepository | undefined): Promise<void> {
    const folder = join(this.#options.folder, session);
    using _ = existsSync(folder) ? await FileLock.take(join(folder, LOCK), OPEN_WAIT) : undefined;
    await this.#letGo(folder);
    await removeTree(folder);
    await repository?.letGo(session);
  }

  /** What set-up has left in its home, for the session to change; undefined where there is none. */
  async #openHome(folder: string, request: WorkspaceRequest): Promise<string | undefined> {
    const { driver } = this.#options;
    const { layer, owner } = request;
    const own = join(folder, HOME);
    if (layer?.home !== undefined) {
      return await driver.open({ layers: [layer.home], folder: own, owner });
    }
    // A copy is whole without its layer.
    const copied = join(own, "tree");
    return driver.name !== "overlay" && existsSync(copied) ? copied : undefined;
  }

  async #letGo(folder: string): Promise<void> {
    await this.#options.driver.close(join(folder, HOME));
    await this.#options.driver.close(folder);
  }

  #git(gitDir: string, workTree: string): ServerGit {
    const { askpass, protocols, resolve } = this.#options;
    const common = { gitDir, workTree, askpass, resolve };
    return new ServerGit({ ...common, ...(protocols ? { protocols } : {}) });
  }

  async #begin(request: WorkspaceRequest, base: Base, workspace: Workspace): Promise<void> {
    const { session, repository, revision, branch, owner } = request;
    const { folder, tree, git } = workspace;
    await repository.keep(session, revision);
    const { keep = [], layer } = request;
    const facts = { repository, revision, branch, shallow: await repository.shallow(), keep };
    await writeGitFolder(git.gitDir, facts);
    await copyFile(base.index, join(git.gitDir, "index"));
    if (base.revision !== revision) {
      await git.run(readTreeFrom(base.revision, revision), { timeout: 10 * 60_000 });
      const names = ["diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=d"];
      const written = await git.text([...names, base.revision, revision]);
      await giveFiles(tree, written.split("\0").filter(Boolean), owner);
    }
    await this.#giveOwnGit(tree, git, facts, owner);
    const kept: Facts = {
      base: base.revision,
      repository: repository.key,
      driver: this.#options.driver.name,
      layer: layer?.id,
    };
    await replaceFile(join(folder, FACTS), JSON.stringify(kept));
  }

  /** Opens a workspace that there was before. */
  async #continue(
    { repository, branch, owner, layer, keep = [] }: WorkspaceRequest,
    base: Base,
    { folder, tree, git }: Workspace,
    { isAway, ...facts }: Facts,
  ): Promise<void> {
    await removeStaleLocks(git.gitDir);
    if (isAway === true) {
      await restoreFiles({ tree, git, base }, owner);
      const revision = await git.text(["rev-parse", "HEAD"]);
      const shallow = await repository.shallow();
      await this.#giveOwnGit(tree, git, { repository, revision, branch, shallow, keep }, owner);
    } else if (layer === undefined || layer.id === facts.layer) return;
    const { name: driver } = this.#options.driver;
    const kept: Facts = { ...facts, driver, layer: layer?.id ?? facts.layer };
    await replaceFile(join(folder, FACTS), JSON.stringify(kept));
  }

  /** Whether a tree can be opened by the driver that is in use now: one that copies cannot mount. */
  #isOurs({ driver }: Facts): boolean {
    return (driver === "overlay") === (this.#options.driver.name === "overlay");
  }

  #checkDriver(facts: Facts): void {
    if (this.#isOurs(facts)) return;
    const why = `it was made with ${facts.driver}, and this server uses ${this.#options.driver.name}`;
    const next = "Start the server as the user that it was made by";
    throw new TrunklineError("unavailable", `Cannot open the workspace: ${why}. ${next}.`);
  }

  /** Where the program is killed meanwhile, the tree is still whole, or its files are kept. */
  async #putAway(
    folder: string,
    repository: CachedRepository,
    mayLoseIgnored: boolean,
  ): Promise<void> {
    const { driver, bases } = this.#options;
    const facts = await readFacts(folder);
    if (facts === undefined || facts.isAway === true) return;
    const base = await bases.exactly(repository, facts.base);
    const tree = await driver.open({ layers: [base.tree], folder, owner: undefined });
    const git = this.#git(join(folder, "git"), tree);
    let lost: "nothing" | "ignored" | "files";
    try {
      await removeStaleLocks(git.gitDir);
      lost = await keepFiles({ tree, git, base });
    } finally {
      await driver.close(folder);
    }
    if (lost === "files" || (lost === "ignored" && !mayLoseIgnored)) return;
    await replaceFile(join(folder, FACTS), JSON.stringify({ ...facts, isAway: true }));
    await this.#removeTree(folder);
    await removeIndexes(git.gitDir);
  }

  async #removeTree(folder: string): Promise<void> {
    await this.#options.driver.close(folder);
    for (const name of ["tree", "changes", "unfinished"]) {
      await rm(join(folder, name), { recursive: true, force: true });
    }
  }

  /** A git folder for the agent's own use; our code never reads it. */
  async #giveOwnGit(
    tree: string,
    git: ServerGit,
    facts: GitFolderFacts,
    owner: FileOwner | undefined,
  ): Promise<void> {
    const own = join(tree, ".git");
    await rm(own, { recursive: true, force: true });
    await writeGitFolder(own, facts);
    await copyFile(join(git.gitDir, "index"), join(own, "index"));
    if (owner === undefined) return;
    await giveTo(own, owner);
  }

  async #close({ repository }: WorkspaceRequest, folder: string, lock: Disposable): Promise<void> {
    try {
      await this.#letGo(folder);
      await rm(join(folder, "git/checkpoint-index"), { force: true });
      const now = new Date();
      // It is idle from now on.
      await utimes(join(folder, FACTS), now, now).catch(() => {});
    } finally {
      lock[Symbol.dispose]();
    }
    // Including those of other processes: the bases of their trees must not be removed.
    const open = (await this.#all()).filter(({ path }) => FileLock.isTaken(join(path, LOCK)));
    // A workspace that is just being created does not name its base yet.
    if (open.some(({ facts }) => facts === undefined)) return;
    const used = open.filter(({ facts }) => facts?.repository === repository.key);
    await this.#options.bases.prune(repository, new Set(used.map(({ facts }) => facts?.base)));
    await this.#options.layers?.prune(repository, new Set(used.map(({ facts }) => facts?.layer)));
  }

  async #all(): Promise<{ readonly path: string; readonly facts: Facts | undefined }[]> {
    const names = await readdir(this.#options.folder).catch(() => []);
    const paths = names.map((name) => join(this.#options.folder, name));
    return await Promise.all(
      paths.map(async (path) => ({ path, facts: await readFacts(path).catch(() => undefined) })),
    );
  }
}

const SETUP = /^setup[0-9a-f]{16}$/;
const HOME = "home";
const FACTS = "workspace.json";
/** Held by the process that has the workspace open. */
const LOCK = "lock";

async function readFacts(folder: string): Promise<Facts | undefined> {
  const path = join(folder, FACTS);
  return existsSync(path) ? (JSON.parse(await readFile(path, "utf8")) as Facts) : undefined;
}

/** An open workspace. */
export class Workspace {
  /** The folder of everything that belongs to it. */
  readonly folder: string;
  /** The folder of its files. */
  readonly tree: string;
  /** The home of programs that work on them, where set-up has left one. */
  readonly home: string | undefined;
  /** Git with our own git folder, on those files. */
  readonly git: ServerGit;
  /** Whether it was made just now: nobody has worked in it before. */
  readonly isNew: boolean;
  readonly #close: () => Promise<void>;
  #closing: Promise<void> | undefined;

  constructor(options: {
    folder: string;
    tree: string;
    home: string | undefined;
    git: ServerGit;
    isNew: boolean;
    close: () => Promise<void>;
  }) {
    this.folder = options.folder;
    this.tree = options.tree;
    this.home = options.home;
    this.git = options.git;
    this.isNew = options.isNew;
    this.#close = options.close;
  }

  /** Releases the tree. The changes are kept for the next time. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }
}

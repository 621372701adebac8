import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, lstat, mkdir, readdir, rm, stat, utimes } from "node:fs/promises";
import { basename, join } from "node:path";
import { TrunklineError } from "../../base/errors.ts";
import { copyIndex } from "../../git/copy-index.ts";
import { ServerGit } from "../../git/server/server-git.ts";
import { FileLock } from "../../store/file-lock.ts";
import { type RevisionContent, isFetched, lfsFolders } from "../content/content.ts";
import { isFolder, withLinks } from "../content/flat-index.ts";
import { LFS_FILTER, lfsConfig, lfsSettings } from "../content/lfs-filter.ts";
import type { SetupLayer, Layers } from "../environment/layers.ts";
import {
  type CachedRepository,
  type RepositoryCacheOptions,
  shallowOf,
} from "../repository-cache.ts";
import type { WorkspaceBase, WorkspaceBases } from "./bases.ts";
import { isWorkspace, layWorkspace } from "./shared-checkpoints.ts";
import { removeTree } from "./copy.ts";
import type { FileOwner, WorkspaceDriver } from "./driver.ts";
import {
  type Hibernation,
  giveChanged,
  giveFiles,
  keepFiles,
  readTreeFrom,
  removeIndexes,
  removeStaleLocks,
  restoreFiles,
} from "./hibernate.ts";
import {
  type WorkspaceFacts,
  FACTS,
  type GitFolderFacts,
  isUnbegun,
  readFacts,
  writeFacts,
  writeGitFolder,
} from "./workspace-facts.ts";

/** Bytes that a file, or a folder with everything in it, takes on disk. Other mounts below it do not count. */
export async function diskUse(folder: string): Promise<number> {
  const top = await lstat(folder);
  const { blocks, dev } = top;
  let bytes = blocks * 512;
  const waiting = top.isDirectory() ? [folder] : [];
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    for (const name of await readdir(path)) {
      const status = await lstat(join(path, name)).catch(() => undefined);
      if (status === undefined || status.dev !== dev) continue;
      bytes += status.blocks * 512;
      if (status.isDirectory()) waiting.push(join(path, name));
    }
  }
  return bytes;
}

/** An open workspace. */
export interface Workspace {
  /** The folder of everything that belongs to it. */
  readonly folder: string;
  /** The folder of its files. */
  readonly tree: string;
  /** The home of the session's programs, if set-up has left one. */
  readonly home: string | undefined;
  /** Git with our own git folder, on those files. */
  readonly git: ServerGit;
  readonly content: RevisionContent;
  /** Whether it was created now, not opened again. */
  readonly isNew: boolean;
  /** Releases the tree. The changes are kept for the next time. */
  close(): Promise<void>;
}

export interface WorkspaceRequest {
  readonly session: string;
  readonly repository: CachedRepository;
  /** The commit that work begins with. */
  readonly revision: string;
  /** The branch that is worked on. */
  readonly branch: string;
  readonly owner: FileOwner | undefined;
  /** What its files consist of; only git's own by default. */
  readonly content?: RevisionContent | undefined;
  /** The layer of set-up that it begins with, above its base. */
  readonly layer?: Pick<SetupLayer, "id" | "tree" | "home"> | undefined;
  /** Patterns, as in .gitignore, of files that are never committed. */
  readonly keep?: readonly string[] | undefined;
}

interface WorkspacesOptions extends Omit<RepositoryCacheOptions, "report"> {
  readonly bases: WorkspaceBases;
  readonly layers?: Layers | undefined;
  /** Ends what a killed process has left running in a workspace. */
  readonly released?: (workspace: string) => Promise<void>;
  /** Called after a workspace was removed that no session has. */
  readonly abandoned?: (workspace: string, repository: string | undefined) => Promise<void>;
  readonly driver: WorkspaceDriver;
}

/** Milliseconds that opening waits for a workspace that is being hibernated. */
const OPEN_WAIT = 60_000;
/** Closed workspaces up to this size, in bytes, do not hibernate early: opening them is faster then. */
const SMALL = 4 * 1024 * 1024;

/** The workspaces of sessions: one tree each, with our own git folder outside of it. */
export class Workspaces implements AsyncDisposable {
  readonly #options: WorkspacesOptions;
  #sweeping: Promise<void> = Promise.resolve();
  #isOver = false;
  /** The state in which `hibernate` has last checked each closed workspace. */
  readonly #looked = new Map<string, string>();

  constructor(options: WorkspacesOptions) {
    this.#options = options;
  }

  /** Creates a workspace, or opens the session's existing one. */
  async open(request: WorkspaceRequest): Promise<Workspace> {
    const { session, repository, revision, owner, layer, content } = request;
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
      ? await bases.near(repository, revision, content)
      : await bases.exactly(repository, facts.base, content);
    const tree = await driver.open({
      layers: layer === undefined ? [base.tree] : [layer.tree, base.tree],
      folder,
      owner,
    });
    const home = await this.#openHome(folder, request);
    const filter = lfsSettings(this.#options.lfsFilter, lfsFolders(repository, base.content));
    const git = this.#git(join(folder, "git"), tree).with(filter);
    const lock = opening.move();
    let closing: Promise<void> | undefined;
    const close = (): Promise<void> => (closing ??= this.#close(request, folder, lock));
    const workspace = { folder, tree, home, git, content: base.content, isNew, close };
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

  has(session: string): boolean {
    return isWorkspace(join(this.#options.folder, session));
  }

  /** Replaces a session's workspace with one that another machine has packed; see `layWorkspace`. */
  async carryIn(request: WorkspaceRequest, packed: Buffer, checkpoint: string): Promise<void> {
    const { session, repository, revision, branch, content } = request;
    await this.remove(session, repository);
    const folder = join(this.#options.folder, session);
    const base = await this.#options.bases.near(repository, revision, content);
    await repository.keep(session, revision);
    const facts = await factsFor(request, { revision, branch }, base);
    // There is no tree yet.
    const git = this.#git(join(folder, "git"), folder);
    try {
      await layWorkspace(folder, { git, base, facts, checkpoint }, packed);
    } catch (error) {
      await removeTree(folder);
      throw error;
    }
  }

  /**
   * Hibernates closed workspaces: stores their files as a commit, and removes their trees. Ignored files
   * are not in the commit, so a workspace that has some stays until it was closed for `after`
   * milliseconds. So does a small one, which is opened faster from disk.
   */
  async hibernate({ after, repositoryOf, signal, failed }: Hibernation): Promise<void> {
    for (const { path: folder, facts } of await this.#all()) {
      if (signal.aborted) return;
      if (facts === undefined || facts.isAway === true || !this.#isOurs(facts)) continue;
      // Files of submodules would not be in the commit.
      if (SETUP.test(basename(folder)) || facts.base.includes("-")) continue;
      const closed = (await stat(join(folder, FACTS)).catch(() => undefined))?.mtimeMs;
      // It was removed meanwhile.
      if (closed === undefined) continue;
      const isLong = Date.now() - closed >= after;
      // The result stays the same until the workspace is opened again, or `after` has passed.
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

  /** Unmounts the trees of killed processes. Their changes are kept. */
  sweep(): Promise<void> {
    this.#sweeping = this.#sweep();
    return this.#sweeping;
  }

  async #sweep(): Promise<void> {
    await this.#options.bases.sweep();
    for (const { path, facts } of await this.#all()) {
      if (this.#isOver) return;
      if (FileLock.isTaken(join(path, LOCK))) continue;
      // An interrupted set-up is never continued.
      const isLeft = SETUP.test(basename(path)) || isUnbegun(path);
      using _ = await FileLock.take(join(path, LOCK));
      await this.#release(path);
      await this.#options.released?.(basename(path));
      if (!isLeft) continue;
      await removeTree(path);
      await this.#options.abandoned?.(basename(path), facts?.repository);
    }
  }

  /** Stops the sweep. The driver is not used afterwards. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await this.#sweeping.catch(() => {});
  }

  /** A name for the workspace of a set-up. `sweep` removes such workspaces. */
  newSetupName(): string {
    return `setup${randomBytes(8).toString("hex")}`;
  }

  /** The layer that a session's workspace began with; null if none, undefined if there is no workspace. */
  async layerOf(session: string): Promise<string | null | undefined> {
    const facts = await readFacts(join(this.#options.folder, session));
    return facts === undefined ? undefined : (facts.layer ?? null);
  }

  /** Removes a session's workspace completely. */
  async remove(session: string, repository: CachedRepository | undefined): Promise<void> {
    const folder = join(this.#options.folder, session);
    using _ = existsSync(folder) ? await FileLock.take(join(folder, LOCK), OPEN_WAIT) : undefined;
    await this.#release(folder);
    await removeTree(folder);
    await repository?.release(session);
  }

  /** The session's own copy of the home that set-up has left; undefined if there is none. */
  async #openHome(folder: string, request: WorkspaceRequest): Promise<string | undefined> {
    const { driver } = this.#options;
    const { layer, owner } = request;
    const own = join(folder, HOME);
    if (layer?.home !== undefined) {
      return await driver.open({ layers: [layer.home], folder: own, owner });
    }
    // A copy does not need its layer any more.
    const copied = join(own, "tree");
    return driver.name !== "overlay" && existsSync(copied) ? copied : undefined;
  }

  async #release(folder: string): Promise<void> {
    await this.#options.driver.close(join(folder, HOME));
    await this.#options.driver.close(folder);
  }

  #git(gitDir: string, workTree: string): ServerGit {
    const { askpass, protocols, resolve } = this.#options;
    const common = { gitDir, workTree, askpass, resolve };
    return new ServerGit({ ...common, ...(protocols ? { protocols } : {}) });
  }

  async #begin(
    request: WorkspaceRequest,
    base: WorkspaceBase,
    workspace: Workspace,
  ): Promise<void> {
    const { session, repository, revision, branch, owner } = request;
    const { folder, tree, git } = workspace;
    await repository.keep(session, revision);
    const facts = await factsFor(request, { revision, branch }, base);
    await writeGitFolder(git.gitDir, facts);
    await copyIndex(base.index, join(git.gitDir, "index"));
    if (base.revision !== revision) {
      await git.run(readTreeFrom(base.revision, revision), { timeout: 10 * 60_000 });
      await giveChanged({ tree, git, base }, revision, owner);
    }
    await this.#giveOwnGit(request, workspace, revision);
    const kept: WorkspaceFacts = {
      base: base.name,
      repository: repository.key,
      driver: this.#options.driver.name,
      layer: request.layer?.id,
    };
    await writeFacts(folder, kept);
  }

  /** Opens an existing workspace. */
  async #continue(
    request: WorkspaceRequest,
    base: WorkspaceBase,
    workspace: Workspace,
    { isAway, ...facts }: WorkspaceFacts,
  ): Promise<void> {
    const { owner, layer } = request;
    const { folder, tree, git } = workspace;
    await removeStaleLocks(git.gitDir);
    if (isAway === true) {
      await restoreFiles({ tree, git, base }, owner);
      await this.#giveOwnGit(request, workspace, await git.text(["rev-parse", "HEAD"]));
    } else if (layer === undefined || layer.id === facts.layer) return;
    const { name: driver } = this.#options.driver;
    const kept: WorkspaceFacts = { ...facts, driver, layer: layer?.id ?? facts.layer };
    await writeFacts(folder, kept);
  }

  /** Whether the current driver can open a tree: a copying driver cannot mount an overlay. */
  #isOurs({ driver }: WorkspaceFacts): boolean {
    return (driver === "overlay") === (this.#options.driver.name === "overlay");
  }

  #checkDriver(facts: WorkspaceFacts): void {
    if (this.#isOurs(facts)) return;
    const why = `it was made with ${facts.driver}, and this server uses ${this.#options.driver.name}`;
    const next = "Start the server as the user who created the workspace";
    throw new TrunklineError("unavailable", `Cannot open the workspace: ${why}. ${next}.`);
  }

  /** If we are killed meanwhile, either the tree is still whole, or its files are in the commit. */
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
    await writeFacts(folder, { ...facts, isAway: true });
    await this.#removeTree(folder);
    await removeIndexes(git.gitDir);
  }

  async #removeTree(folder: string): Promise<void> {
    await this.#options.driver.close(folder);
    for (const name of ["tree", "changes", "unfinished"]) {
      await rm(join(folder, name), { recursive: true, force: true });
    }
  }

  /** Git folders for the agent's own use, also in submodules; our code never reads them. */
  async #giveOwnGit(
    request: WorkspaceRequest,
    { tree, git, content }: Workspace,
    revision: string,
  ): Promise<void> {
    const { repository, branch, keep = [] } = request;
    const folders = lfsFolders(repository, content);
    const config = lfsConfig(this.#options.lfsFilter && LFS_FILTER, folders);
    const shallow = await repository.shallow();
    const own = { repository, revision, branch, shallow, keep, config };
    const index = join(git.gitDir, "own-index");
    await copyIndex(join(git.gitDir, "index"), index);
    await withLinks(git, index, content.submodules);
    await this.#giveGit(request, tree, ".git", own, index);
    await rm(index, { force: true });
    for (const { path, ...its } of content.submodules.filter(isFetched)) {
      // An earlier turn may have removed it, or have put a link in its place.
      if (!(await isFolder(tree, path))) continue;
      const facts = { ...its, branch, keep: [], config, shallow: await shallowOf(its.repository) };
      await git.run(["read-tree", its.revision], { env: { GIT_INDEX_FILE: index } });
      await this.#giveGit(request, tree, join(path, ".git"), facts, index);
      await rm(index, { force: true });
    }
  }

  async #giveGit(
    { owner }: WorkspaceRequest,
    tree: string,
    path: string,
    facts: GitFolderFacts,
    index: string,
  ): Promise<void> {
    const own = join(tree, path);
    await rm(own, { recursive: true, force: true });
    await writeGitFolder(own, facts);
    await copyIndex(index, join(own, "index"));
    const { lfsFilter } = this.#options;
    if (lfsFilter !== undefined) await copyFile(lfsFilter, join(own, "lfs-filter"));
    if (owner === undefined) return;
    // A dozen files: `chown` would take longer to start than they take.
    const names = await readdir(own, { recursive: true });
    await giveFiles(
      tree,
      names.map((name) => join(path, name)),
      owner,
    );
  }

  async #close({ repository }: WorkspaceRequest, folder: string, lock: Disposable): Promise<void> {
    try {
      await this.#release(folder);
      await rm(join(folder, "git/checkpoint-index"), { force: true });
      const now = new Date();
      // The time of the facts file is when the workspace was closed.
      await utimes(join(folder, FACTS), now, now).catch(() => {});
    } finally {
      lock[Symbol.dispose]();
    }
    // Including the workspaces of other processes: the bases of their trees must not be removed.
    const open = (await this.#all()).filter(({ path }) => FileLock.isTaken(join(path, LOCK)));
    // A workspace that is being created does not name its base yet.
    if (open.some(({ facts }) => facts === undefined)) return;
    const used = open.filter(({ facts }) => facts?.repository === repository.key);
    await this.#options.bases.prune(repository, new Set(used.map(({ facts }) => facts?.base)));
    await this.#options.layers?.prune(repository, new Set(used.map(({ facts }) => facts?.layer)));
  }

  async #all(): Promise<{ readonly path: string; readonly facts: WorkspaceFacts | undefined }[]> {
    const names = await readdir(this.#options.folder).catch(() => []);
    const paths = names.map((name) => join(this.#options.folder, name));
    return await Promise.all(
      paths.map(async (path) => ({ path, facts: await readFacts(path).catch(() => undefined) })),
    );
  }
}

/** The initial content of our own git folder. */
async function factsFor(
  { repository, keep = [] }: WorkspaceRequest,
  at: Pick<GitFolderFacts, "revision" | "branch">,
  { content }: WorkspaceBase,
): Promise<GitFolderFacts> {
  const alternates = content.submodules.filter(isFetched).map((each) => each.repository.objects);
  return { ...at, repository, alternates, shallow: await repository.shallow(), keep };
}

const SETUP = /^setup[0-9a-f]{16}$/;
const HOME = "home";
/** Held by the process that has the workspace open. */
const LOCK = "lock";

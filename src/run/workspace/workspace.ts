import { randomBytes } from "node:crypto";
import { existsSync } from "node:fs";
import { chmod, copyFile, lchown, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

import type { ResolveHost } from "../../git/server/pin-connection.ts";
import { ServerGit } from "../../git/server/server-git.ts";
import { FileLock } from "../../store/file-lock.ts";
import type { Layer, Layers } from "../environment/layers.ts";
import type { CachedRepository } from "../repository-cache.ts";
import type { Base, Bases } from "./bases.ts";
import { giveTo, removeTree } from "./copy.ts";
import type { FileOwner, WorkspaceDriver } from "./driver.ts";

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
}

/** Where sessions work: a tree each, with a git folder of ours that is not in it. */
export class Workspaces implements AsyncDisposable {
  readonly #options: WorkspacesOptions;
  #sweeping: Promise<void> = Promise.resolve();
  #isOver = false;

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
    opening.use(await FileLock.take(join(folder, LOCK)));
    const facts = await readFacts(folder);
    const isNew = facts === undefined;
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
    if (!isNew) {
      if (layer !== undefined) await writeFacts(folder, { ...facts, layer: layer.id });
      return workspace;
    }
    try {
      await this.#begin(request, base, workspace);
    } catch (error) {
      await workspace.close();
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
    return workspace;
  }

  /** Lets go of the trees of processes that were killed. What was changed in them is kept. */
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

  /** Removes all that there is of a session's workspace. */
  async remove(session: string, repository: CachedRepository | undefined): Promise<void> {
    const folder = join(this.#options.folder, session);
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
      await git.run(["read-tree", "--reset", "-u", revision], { timeout: 10 * 60_000 });
      // Git has written them as us.
      if (owner !== undefined) await giveChanged(git, base.revision, revision, owner);
    }
    await this.#giveOwnGit(tree, git, facts, owner);
    const kept: Facts = {
      base: base.revision,
      repository: repository.key,
      driver: this.#options.driver.name,
      layer: layer?.id,
    };
    await writeFacts(folder, kept);
  }

  /** A git folder for the agent to use as it likes: nothing of ours ever reads it. */
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

async function writeFacts(folder: string, facts: Facts): Promise<void> {
  await writeFile(join(folder, FACTS), JSON.stringify(facts));
}

/** One of them while it is open. */
export class Workspace {
  /** The folder of everything that belongs to it. */
  readonly folder: string;
  /** The files that are worked on. */
  readonly tree: string;
  /** The home of programs that work on them, where set-up has left one. */
  readonly home: string | undefined;
  /** Git with our own folder, on those files. */
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

interface GitFolderFacts {
  readonly repository: CachedRepository;
  readonly revision: string;
  readonly branch: string;
  readonly shallow: string;
  readonly keep: readonly string[];
}

/** A git folder that borrows its objects. It is written directly, because `git init` takes longer. */
async function writeGitFolder(gitDir: string, facts: GitFolderFacts): Promise<void> {
  const { repository, revision, branch, shallow, keep } = facts;
  const ref = `refs/heads/${branch}`;
  await mkdir(join(gitDir, "objects/info"), { recursive: true, mode: 0o755 });
  await mkdir(join(gitDir, ref, ".."), { recursive: true, mode: 0o755 });
  await Promise.all([
    writeFile(join(gitDir, "HEAD"), `ref: ${ref}\n`),
    writeFile(join(gitDir, ref), `${revision}\n`),
    writeFile(join(gitDir, "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"),
    writeFile(join(gitDir, "objects/info/alternates"), `${repository.objects}\n`),
    ...(keep.length === 0 ? [] : [writeExclude(gitDir, keep)]),
    ...(shallow === "" ? [] : [writeFile(join(gitDir, "shallow"), shallow)]),
  ]);
  await chmod(gitDir, 0o755);
}

/** Makes somebody the owner of the files that two revisions do not share, and of their folders. */
async function giveChanged(
  git: ServerGit,
  from: string,
  to: string,
  { uid, gid }: FileOwner,
): Promise<void> {
  const list = [
    "diff-tree",
    "-r",
    "-z",
    "--name-only",
    "--no-renames",
    "--diff-filter=d",
    from,
    to,
  ];
  const { stdout } = await git.run(list);
  const paths = new Set<string>();
  for (const name of stdout.toString("latin1").split("\0")) {
    for (let at = name; at !== "" && at !== "." && !paths.has(at); at = dirname(at)) paths.add(at);
  }
  const tree = Buffer.from(`${git.workTree ?? ""}/`);
  for (const path of paths) {
    // A module of the repository is a name that nothing is checked out for.
    await lchown(Buffer.concat([tree, Buffer.from(path, "latin1")]), uid, gid).catch(ignoreMissing);
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): void {
  if (error.code !== "ENOENT") throw error;
}

async function writeExclude(gitDir: string, patterns: readonly string[]): Promise<void> {
  await mkdir(join(gitDir, "info"), { recursive: true, mode: 0o755 });
  await writeFile(join(gitDir, "info/exclude"), patterns.map((each) => `${each}\n`).join(""));
}

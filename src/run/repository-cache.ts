import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { mkdir, readFile, readdir, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { TrunklineError } from "../base/errors.ts";
import { TaskQueue } from "../base/limit/task-queue.ts";
import { isMarkOfEnded, ownMark } from "../base/process/process-mark.ts";
import type { Credentials, HostResolver } from "../git/server/pin-connection.ts";
import { ServerGit } from "../git/server/server-git.ts";
import { FileLock } from "../store/file-lock.ts";
import { lfsSettings } from "./content/lfs-filter.ts";
import type { RemoteRef } from "./remote-ref.ts";

export interface RepositoryCacheOptions {
  readonly folder: string;
  readonly askpass: string;
  /** The program of `writeLfsFilter`. Without it, files of Git LFS stay pointers. */
  readonly lfsFilter?: string | undefined;
  readonly protocols?: readonly string[];
  readonly resolve?: HostResolver | undefined;
  /** Reports failures of background work. */
  readonly report: (event: string, fields: Record<string, unknown>) => void;
}

/** Fetching a large repository may take long; `session/new` does not wait for it. */
const FETCH_TIMEOUT = 60 * 60_000;
/** Milliseconds for which a successful check of the right to push is cached. */
const PUSH_CHECK_HOLDS = 5 * 60_000;
const LOCK_WAIT = 10 * 60_000;

/**
 * One bare repository for each URL and scope of credentials. All sessions on it share it, so that each
 * object is fetched once.
 */
export class RepositoryCache implements AsyncDisposable {
  readonly #options: RepositoryCacheOptions;
  readonly #open = new Map<string, CachedRepository>();

  constructor(options: RepositoryCacheOptions) {
    this.#options = options;
  }

  at(url: string, credentials: Credentials): CachedRepository {
    const key = createHash("sha256")
      .update(`${credentials.scope}\0${url}`)
      .digest("hex")
      .slice(0, 32);
    const open = (): CachedRepository => new CachedRepository(key, url, this.#options);
    return this.#open.getOrInsertComputed(key, open);
  }

  /** A repository by its key, for work that needs no URL. */
  byKey(key: string): CachedRepository {
    return this.#open.get(key) ?? new CachedRepository(key, "", this.#options);
  }

  /** Stops fetching in the background. A later session fetches the rest. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Array.from(this.#open.values(), (each) => each[Symbol.asyncDispose]()));
  }
}

/** One cached repository. */
export class CachedRepository implements AsyncDisposable {
  readonly key: string;
  readonly url: string;
  readonly git: ServerGit;
  readonly #options: RepositoryCacheOptions;
  readonly #folder: string;
  /** Fetches run one after another: git fails instead of waiting for its own lock. */
  readonly #queue = new TaskQueue();
  readonly #fetching = new Map<string, Promise<void>>();
  #filling: Promise<void> | undefined;
  readonly #seen = new Set<string>();
  #pushChecked = -Infinity;
  #checkingPush: Promise<void> | undefined;
  readonly #closed = new AbortController();

  constructor(key: string, url: string, options: RepositoryCacheOptions) {
    const { folder, askpass, protocols, resolve } = options;
    this.key = key;
    this.url = url;
    this.#options = options;
    this.#folder = join(folder, key);
    const gitDir = join(this.#folder, "git");
    this.git = new ServerGit({ gitDir, askpass, resolve, ...(protocols ? { protocols } : {}) });
  }

  /** The folder of its objects, which workspaces use as alternates. */
  get objects(): string {
    return join(this.git.gitDir, "objects");
  }

  /** The folder of its objects of Git LFS. */
  get lfs(): string {
    return join(this.#folder, "lfs");
  }

  /** The content of git's `shallow` file: commits whose parents were not fetched; empty if there are none. */
  async shallow(): Promise<string> {
    return await shallowOf(this);
  }

  /** Its git, with files of Git LFS whose objects are in one of the folders. */
  gitWith(folders: readonly string[]): ServerGit {
    return this.git.with(lfsSettings(this.#options.lfsFilter, folders));
  }

  /** Fetches a commit with its files, if it is missing; its history may follow later. */
  async need(ref: RemoteRef, credentials: Credentials): Promise<void> {
    if (await this.has(ref.revision)) return;
    await this.#fetching.getOrInsertComputed(ref.revision, (revision) =>
      this.#alone(() => this.#fetch(ref, credentials)).finally(() => {
        this.#fetching.delete(revision);
      }),
    );
  }

  async has(revision: string): Promise<boolean> {
    if (!existsSync(join(this.git.gitDir, "HEAD"))) return false;
    // A cache is never garbage-collected, so a commit that was there is still there.
    if (this.#seen.has(revision)) return true;
    const { code } = await this.git.run(["cat-file", "-e", `${revision}^{tree}`], {
      accepts: [0, 1, 128],
    });
    if (code === 0) this.#seen.add(revision);
    return code === 0;
  }

  /** Fetches the missing history in the background. */
  fill(credentials: Credentials): Promise<void> {
    this.#filling ??= this.#alone(() => this.#fetchAll(credentials)).then(
      () => undefined,
      (error: unknown) => {
        this.#filling = undefined;
        if (!this.#closed.signal.aborted)
          this.#options.report("run.cache-not-filled", { url: this.url, error });
      },
    );
    return this.#filling;
  }

  /** Checks the right to push, which is the same for all sessions here, unless the result is cached. */
  async checkPush(check: () => Promise<void>): Promise<void> {
    if (performance.now() - this.#pushChecked < PUSH_CHECK_HOLDS) return;
    this.#checkingPush ??= check()
      .then(() => {
        this.#pushChecked = performance.now();
      })
      .finally(() => (this.#checkingPush = undefined));
    await this.#checkingPush;
  }

  /** Clears the cached right to push after a failed push, so that the next session checks again. */
  forgetPushCheck(): void {
    this.#pushChecked = -Infinity;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort(new TrunklineError("closed", "Trunkline is stopping"));
    await this.#filling;
  }

  /** Protects a commit from garbage collection while a session is based on it. */
  async keep(session: string, revision: string): Promise<void> {
    // Written without git, which saves a process. Nobody else writes this ref, and nobody packs refs.
    const path = this.#live(session);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, `${revision}\n`);
  }

  async release(session: string): Promise<void> {
    // Without git as well: it would remove the empty folder, in which another session is just written.
    await rm(this.#live(session), { force: true });
  }

  #live(session: string): string {
    return join(this.git.gitDir, "refs/trunkline/live", session);
  }

  #alone<T>(work: () => Promise<T>): Promise<T> {
    return this.#queue.run(async () => {
      await this.#create();
      using _ = await FileLock.take(join(this.#folder, "lock"), LOCK_WAIT);
      return await work();
    });
  }

  async #create(): Promise<void> {
    const { gitDir } = this.git;
    if (existsSync(join(gitDir, "HEAD"))) return;
    await removeUnfinished(this.#folder);
    const unfinished = unfinishedName(gitDir);
    await rm(unfinished, { recursive: true, force: true });
    for (const folder of ["objects/info", "refs/heads"]) {
      await mkdir(join(unfinished, folder), { recursive: true, mode: 0o755 });
    }
    await writeFile(
      join(unfinished, "config"),
      "[core]\n\trepositoryformatversion = 0\n\tbare = true\n",
    );
    await writeFile(join(unfinished, "HEAD"), "ref: refs/heads/none\n");
    await rename(unfinished, gitDir).catch((error: NodeJS.ErrnoException) => {
      // Another process has created it first.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  }

  async #fetch(ref: RemoteRef, credentials: Credentials): Promise<void> {
    // Another fetch may have fetched it meanwhile.
    if (await this.has(ref.revision)) return;
    const { revision, branch } = ref;
    const call = { remote: { url: this.url, credentials }, timeout: FETCH_TIMEOUT };
    const isFilled = existsSync(join(this.git.gitDir, "filled"));
    const depth = isFilled ? [] : ["--depth=1"];
    const by = (spec: string): readonly string[] => [...FETCH, ...depth, "--", this.url, spec];
    try {
      await this.git.run(by(`${revision}:refs/trunkline/fetched/${revision}`), call);
    } catch (error) {
      if (error instanceof TrunklineError && error.code === "untrusted") throw error;
      // A server may refuse commits that are not the tip of a branch.
      if (branch === "")
        throw NOT_THERE.test(String(error)) ? this.#missing(revision, error) : error;
      const spec = `+refs/heads/${branch}:refs/remotes/origin/${branch}`;
      await this.git.run([...FETCH, "--", this.url, spec], call);
      if (await this.has(revision)) return;
      throw this.#missing(revision, error, ` on branch '${branch}'`);
    }
  }

  #missing(revision: string, cause: unknown, where = ""): TrunklineError {
    const why = `revision ${revision} is not${where} there. Push it first`;
    return new TrunklineError("not-found", `Cannot fetch from '${this.url}': ${why}.`, { cause });
  }

  async #fetchAll(credentials: Credentials): Promise<void> {
    const marker = join(this.git.gitDir, "filled");
    const isShallow = (await this.shallow()) !== "";
    if (existsSync(marker) && !isShallow) return;
    const call = {
      remote: { url: this.url, credentials },
      timeout: FETCH_TIMEOUT,
      signal: this.#closed.signal,
    };
    const whole = isShallow ? ["--unshallow"] : [];
    const spec = "+refs/heads/*:refs/remotes/origin/*";
    await this.git.run([...FETCH, ...whole, "--", this.url, spec], call);
    await writeFile(marker, "");
  }
}

/** The `shallow` file beside a folder of objects. */
export async function shallowOf({ objects }: Pick<CachedRepository, "objects">): Promise<string> {
  return await readFile(join(dirname(objects), "shallow"), "utf8").catch(() => "");
}

/** Messages of git for a commit that the server does not have, or does not serve. */
const NOT_THERE = /not our ref|unadvertised object/;

const FETCH = ["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--refmap="];

/** The names by the time of the last use of their files, the most recent first. */
export async function byLastUse(
  names: readonly string[],
  pathOf: (name: string) => string,
): Promise<string[]> {
  const used = await Promise.all(
    names.map(async (name) => {
      const status = await stat(pathOf(name)).catch(() => undefined);
      return { name, at: status?.mtimeMs ?? 0 };
    }),
  );
  return used.toSorted((one, other) => other.at - one.at).map(({ name }) => name);
}

/** The name of a folder while this process creates or removes it. */
export function unfinishedName(name: string): string {
  return `${name}.unfinished-${ownMark()}`;
}

/** Removes the unfinished folders of processes that have ended. */
export async function removeUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    const [, mark = ""] = /\.unfinished-(\d+-\w+)$/.exec(name) ?? [];
    if (isMarkOfEnded(mark)) await rm(join(folder, name), { recursive: true, force: true });
  }
}

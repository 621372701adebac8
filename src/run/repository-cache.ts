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
    return this.#open.getOrInsertComputed(key, () => cachedRepository(key, url, this.#options));
  }

  /** A repository by its key, for work that needs no URL. */
  byKey(key: string): CachedRepository {
    return this.#open.get(key) ?? cachedRepository(key, "", this.#options);
  }

  /** Stops fetching in the background. A later session fetches the rest. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(Array.from(this.#open.values(), (each) => each[Symbol.asyncDispose]()));
  }
}

export type CachedRepository = ReturnType<typeof cachedRepository>;

/** One cached repository. */
function cachedRepository(key: string, url: string, options: RepositoryCacheOptions) {
  const { askpass, protocols, resolve, lfsFilter, report } = options;
  const folder = join(options.folder, key);
  const gitDir = join(folder, "git");
  const git = new ServerGit({ gitDir, askpass, resolve, ...(protocols ? { protocols } : {}) });
  const objects = join(gitDir, "objects");
  /** Fetches run one after another: git fails instead of waiting for its own lock. */
  const queue = new TaskQueue();
  const fetching = new Map<string, Promise<void>>();
  let filling: Promise<void> | undefined;
  const seen = new Set<string>();
  let pushChecked = -Infinity;
  let checkingPush: Promise<void> | undefined;
  const closed = new AbortController();
  const livePath = (session: string): string => join(gitDir, "refs/trunkline/live", session);

  const has = async (revision: string): Promise<boolean> => {
    if (!existsSync(join(gitDir, "HEAD"))) return false;
    // A cache is never garbage-collected, so a commit that was there is still there.
    if (seen.has(revision)) return true;
    const call = ["cat-file", "-e", `${revision}^{tree}`];
    const { code } = await git.run(call, { accepts: [0, 1, 128] });
    if (code === 0) seen.add(revision);
    return code === 0;
  };

  const create = async (): Promise<void> => {
    if (existsSync(join(gitDir, "HEAD"))) return;
    await removeUnfinished(folder);
    const unfinished = unfinishedName(gitDir);
    await rm(unfinished, { recursive: true, force: true });
    for (const each of ["objects/info", "refs/heads"]) {
      await mkdir(join(unfinished, each), { recursive: true, mode: 0o755 });
    }
    const config = "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
    await writeFile(join(unfinished, "config"), config);
    await writeFile(join(unfinished, "HEAD"), "ref: refs/heads/none\n");
    await rename(unfinished, gitDir).catch((error: NodeJS.ErrnoException) => {
      // Another process has created it first.
      if (error.code !== "ENOTEMPTY" && error.code !== "EEXIST") throw error;
    });
  };

  const alone = <T>(work: () => Promise<T>): Promise<T> =>
    queue.run(async () => {
      await create();
      using _ = await FileLock.take(join(folder, "lock"), LOCK_WAIT);
      return await work();
    });

  const missing = (revision: string, cause: unknown, where = ""): TrunklineError => {
    const why = `revision ${revision} is not${where} there. Push it first`;
    return new TrunklineError("not-found", `Cannot fetch from '${url}': ${why}.`, { cause });
  };

  const fetchOne = async (
    { revision, branch }: RemoteRef,
    credentials: Credentials,
  ): Promise<void> => {
    // Another fetch may have fetched it meanwhile.
    if (await has(revision)) return;
    const call = { remote: { url, credentials }, timeout: FETCH_TIMEOUT };
    const depth = existsSync(join(gitDir, "filled")) ? [] : ["--depth=1"];
    const own = `${revision}:refs/trunkline/fetched/${revision}`;
    try {
      await git.run([...FETCH, ...depth, "--", url, own], call);
    } catch (error) {
      if (error instanceof TrunklineError && error.code === "untrusted") throw error;
      // A server may refuse commits that are not the tip of a branch.
      if (branch === "") throw NOT_THERE.test(String(error)) ? missing(revision, error) : error;
      const spec = `+refs/heads/${branch}:refs/remotes/origin/${branch}`;
      await git.run([...FETCH, "--", url, spec], call);
      if (await has(revision)) return;
      throw missing(revision, error, ` on branch '${branch}'`);
    }
  };

  const fetchAll = async (credentials: Credentials): Promise<void> => {
    const marker = join(gitDir, "filled");
    const isShallow = (await shallowOf({ objects })) !== "";
    if (existsSync(marker) && !isShallow) return;
    const { signal } = closed;
    const call = { remote: { url, credentials }, timeout: FETCH_TIMEOUT, signal };
    const whole = isShallow ? ["--unshallow"] : [];
    const spec = "+refs/heads/*:refs/remotes/origin/*";
    await git.run([...FETCH, ...whole, "--", url, spec], call);
    await writeFile(marker, "");
  };

  return {
    ...{ key, url, git, has },
    /** The folder of its objects, which workspaces use as alternates. */
    objects,
    /** The folder of its objects of Git LFS. */
    lfs: join(folder, "lfs"),
    /** The content of git's `shallow` file: commits whose parents were not fetched; empty if there are none. */
    shallow: () => shallowOf({ objects }),
    /** Its git, with files of Git LFS whose objects are in one of the folders. */
    gitWith: (folders: readonly string[]) => git.with(lfsSettings(lfsFilter, folders)),

    /** Fetches a commit with its files, if it is missing; its history may follow later. */
    async need(ref: RemoteRef, credentials: Credentials): Promise<void> {
      if (await has(ref.revision)) return;
      await fetching.getOrInsertComputed(ref.revision, (revision) =>
        alone(() => fetchOne(ref, credentials)).finally(() => {
          fetching.delete(revision);
        }),
      );
    },

    /** Fetches the missing history in the background. */
    fill(credentials: Credentials): Promise<void> {
      filling ??= alone(() => fetchAll(credentials)).catch((error: unknown) => {
        filling = undefined;
        if (!closed.signal.aborted) report("run.cache-not-filled", { url, error });
      });
      return filling;
    },

    /** Checks the right to push, which is the same for all sessions here, unless the result is cached. */
    async checkPush(check: () => Promise<void>): Promise<void> {
      if (performance.now() - pushChecked < PUSH_CHECK_HOLDS) return;
      checkingPush ??= check()
        .then(() => {
          pushChecked = performance.now();
        })
        .finally(() => (checkingPush = undefined));
      await checkingPush;
    },

    /** Clears the cached right to push after a failed push, so that the next session checks again. */
    forgetPushCheck(): void {
      pushChecked = -Infinity;
    },

    async [Symbol.asyncDispose](): Promise<void> {
      closed.abort(new TrunklineError("closed", "Trunkline is stopping"));
      await filling;
    },

    /** Protects a commit from garbage collection while a session is based on it. */
    async keep(session: string, revision: string): Promise<void> {
      // Written without git, which saves a process. Nobody else writes this ref, and nobody packs refs.
      const path = livePath(session);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, `${revision}\n`);
    },

    async release(session: string): Promise<void> {
      // Without git as well: it would remove the empty folder, in which another session is just written.
      await rm(livePath(session), { force: true });
    },
  };
}

/** The `shallow` file beside a folder of objects. */
export async function shallowOf({ objects }: { readonly objects: string }): Promise<string> {
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

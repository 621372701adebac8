import { Semaphore, type SemaphoreLimits } from "../base/limit/semaphore.ts";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { TrunklineError } from "../base/errors.ts";
import type { BackoffLimits } from "../base/limit/backoff.ts";
import type { Log } from "../base/log.ts";
import { parseRemoteUrl } from "../base/remote-url.ts";
import { type Author, coAuthorLine } from "../git/git.ts";
import type { RunActor } from "./deliver.ts";
import { type HostResolver, writeAskpass } from "../git/server/pin-connection.ts";
import { ContentFetcher } from "./content/content.ts";
import { writeLfsFilter } from "./content/lfs-filter.ts";
import { openEnvironments, type RunSetup } from "./environment/environments.ts";
import { Layers } from "./environment/layers.ts";
import { readRetrySetup } from "./environment/recipe.ts";
import { type PullRequestProposer, readRequestMode, type RequestMode } from "./pull-request.ts";
import { checkRemoteUrl, pinAddresses, readRemoteRef, type RemotePolicy } from "./remote-ref.ts";
import { RepositoryCache } from "./repository-cache.ts";
import type { ScanLimits } from "./change/scan.ts";
import { isPlan, newPlan, type RunPlan } from "./run-plan.ts";
import { WorkspaceBases } from "./workspace/bases.ts";
import type { SharedCheckpoints } from "./workspace/shared-checkpoints.ts";
import type { FileOwner, WorkspaceDriver } from "./workspace/driver.ts";
import type { RunUsers } from "./workspace/run-users.ts";
import { Workspaces } from "./workspace/workspace.ts";
import { type PushMemory, openRun } from "./run.ts";
import type { EffectiveLimits } from "./run-limits.ts";
import { background } from "../base/background.ts";

/** Turns that may run and wait at once; `Each` is for one principal. */
export type TurnLimits = Required<Omit<SemaphoreLimits, "refusal">>;

export interface RunsOptions {
  /** The folder for caches and workspaces. */
  readonly folder: string;
  readonly driver: WorkspaceDriver;
  readonly policy: RemotePolicy;
  readonly scan: ScanLimits;
  /** How many turns may run at once. */
  readonly turns: TurnLimits;
  /** How many bases are kept for each repository. */
  readonly mostBases: number;
  /** Milliseconds after which a closed workspace hibernates even if it has files that git ignores. */
  readonly hibernateAfter: number;
  /** Credentials for a repository, and the author of commits. */
  readonly identify: (url: string, agent?: string) => Promise<RunActor>;
  readonly coAuthor?: Author | undefined;
  /** What a run may use. */
  readonly limitsOf?: ((plan: RunPlan) => EffectiveLimits) | undefined;
  /** How repositories are set up before agents work on them; undefined if none is. */
  readonly setup?: RunSetup | undefined;
  /** Removes the sandbox of a workspace whose process was killed, and ends its programs. */
  readonly removePlace?:
    | ((workspace: string, owner: FileOwner | undefined) => Promise<void>)
    | undefined;
  /** System users, one for each workspace; undefined if all run as our own user. */
  readonly users?: RunUsers | undefined;
  /** Whether pull requests are opened, unless a client asks for something else. */
  readonly pullRequest?:
    | { readonly mode: RequestMode; readonly propose: PullRequestProposer }
    | undefined;
  /** When a failed push is retried; by default after half a minute at first. */
  readonly pushAgain?: BackoffLimits | undefined;
  /** Where other machines find what is needed to continue a run; undefined if there are none. */
  readonly carried?: SharedCheckpoints | undefined;
  /** Resolves host names; by default as the system does. */
  readonly lookup?: HostResolver | undefined;
  readonly log: Log;
}

export type Runs = Awaited<ReturnType<typeof runsIn>>;

/** Runs of agents on revisions of repositories. */
export async function runsIn(options: RunsOptions) {
  const { folder, driver, policy, log, setup, users, identify, coAuthor } = options;
  await mkdir(folder, { recursive: true, mode: 0o711 });
  const [askpass, lfsFilter] = [await writeAskpass(folder), await writeLfsFilter(folder)];
  const queue = new Semaphore({ ...options.turns, refusal: tooManyTurns });
  const resolve: HostResolver = (host) => pinAddresses({ host }, policy, options.lookup);
  const common = { askpass, lfsFilter, protocols: policy.protocols, resolve };
  const report = (event: string, fields: Record<string, unknown>): void => log.warn(event, fields);
  const cache = new RepositoryCache({ folder: join(folder, "cache"), report, ...common });
  const contents = new ContentFetcher({ cache, policy, identify, resolve });
  const bases = new WorkspaceBases({ folder: join(folder, "bases"), most: options.mostBases });
  const layers = new Layers({ folder: join(folder, "layers"), most: setup?.mostLayers ?? 0 });
  const workspaces = new Workspaces({
    ...{ folder: join(folder, "work"), bases, layers, driver, ...common },
    released: async (name) => options.removePlace?.(name, users?.of(name)),
    abandoned: async (name, key) => {
      if (key !== undefined) await cache.byKey(key).release(name);
      users?.free(name);
    },
  });
  const tidying = tidy({ ...options, workspaces, cache });
  const environments =
    setup && openEnvironments({ ...setup, layers, workspaces, driver, users, log });
  /** In the order of their last use. */
  const urls = new Set<string>();
  return {
    /** Addresses of the repositories that runs of this process work on, which are in the cache. */
    get repositories(): readonly string[] {
      return [...urls].toReversed();
    },

    /** A message for somebody who is elsewhere. */
    withoutFolder: (message: string) => message.replaceAll(folder, "…"),

    /** The folder of a run's files, which may not exist yet. */
    treeOf: ({ workspace }: RunPlan) => join(folder, "work", workspace, "tree"),

    /** Reads a client's request. Undefined if it does not ask for a run. */
    plan(meta: unknown): RunPlan | undefined {
      const ref = readRemoteRef(meta);
      if (ref === undefined) return undefined;
      const { normal: url } = checkRemoteUrl(ref.url, policy);
      const pullRequest = readRequestMode(meta, options.pullRequest?.mode ?? "off");
      return newPlan({ ...ref, url }, { pullRequest, retrySetup: readRetrySetup(meta) });
    },

    /** Opens a run. `stored` is what was stored for it. */
    async open(stored: unknown, session: string, agent?: string, memory?: PushMemory) {
      if (!isPlan(stored)) {
        const says = `Cannot open session '${session}' as a remote run: no plan is stored for it.`;
        throw new TrunklineError("usage", says);
      }
      const { normal: url } = checkRemoteUrl(stored.url, policy);
      const { trailers = [], ...acting } = await identify(url, agent);
      const repository = cache.at(url, acting.credentials);
      urls.delete(url);
      urls.add(url);
      return openRun({
        ...{ ...options, plan: { ...stored, url }, session, memory, ...acting },
        trailers: coAuthor === undefined ? trailers : [...trailers, coAuthorLine(coAuthor)],
        ...{ repository, workspaces, contents, queue, environments },
      });
    },

    /** Removes everything that is stored about a run. */
    async remove(plan: unknown): Promise<void> {
      if (!isPlan(plan)) return;
      const { normal: url = plan.url } = parseRemoteUrl(plan.url);
      const { credentials } = await identify(url);
      await workspaces.remove(plan.workspace, cache.at(url, credentials));
      await options.carried?.remove(plan.workspace);
    },

    /** Stops background work. Open runs end with their sessions. */
    async [Symbol.asyncDispose](): Promise<void> {
      const tidied = tidying[Symbol.asyncDispose]();
      await workspaces[Symbol.asyncDispose]();
      await tidied;
      await cache[Symbol.asyncDispose]();
    },
  };
}

function tooManyTurns(waiting: number): string {
  const why = `${waiting} of your turns already wait, which is the limit. Wait until one has ended`;
  return `Cannot queue another turn: ${why}.`;
}

export interface TidyOptions {
  readonly workspaces: Workspaces;
  readonly cache: RepositoryCache;
  /** Milliseconds after which a closed workspace hibernates even if it has files that git ignores. */
  readonly hibernateAfter: number;
  readonly log: Log;
}

/** Milliseconds between two checks for workspaces that can hibernate. */
const EVERY = 60_000;

/**
 * Unmounts workspaces that killed processes left open, and hibernates idle ones, until it is disposed of:
 * then it stops after the current workspace.
 */
export function tidy({ workspaces, cache, hibernateAfter, log }: TidyOptions): AsyncDisposable {
  const closed = new AbortController();
  const hibernation = {
    after: hibernateAfter,
    repositoryOf: (key: string) => cache.byKey(key),
    signal: closed.signal,
    // A workspace that cannot hibernate stays as it is.
    failed: (workspace: string, error: unknown): void => {
      log.warn("run.not-hibernated", { workspace, error });
    },
  };
  let work = workspaces.sweep();
  background(work, "Unmounting workspaces of killed processes");
  const hibernate = (): void => {
    work = work.catch(() => {}).then(() => workspaces.hibernate(hibernation));
    background(work, "Hibernating workspaces");
  };
  const timer = setInterval(hibernate, EVERY).unref();
  hibernate();
  return {
    [Symbol.asyncDispose]: async () => {
      clearInterval(timer);
      closed.abort(new TrunklineError("closed", "Trunkline is stopping"));
      await work.catch(() => {});
    },
  };
}

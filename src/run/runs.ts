import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { background } from "../base/background.ts";
import { TrunklineError } from "../base/errors.ts";
import { Backoff, type BackoffLimits } from "../base/limit/backoff.ts";
import type { Log } from "../base/log.ts";
import { Stopper } from "../base/stop.ts";
import { type Credentials, writeAskpass } from "../git/server/credentials.ts";
import type { ResolveHost } from "../git/server/pin-connection.ts";
import type { ServerGit } from "../git/server/server-git.ts";
import type { Turn } from "../session/agent.ts";
import { type Author, Deliverer, type Delivery, type Target } from "./deliver.ts";
import { Environments, type RunSetup } from "./environment/environments.ts";
import { type Layer, Layers } from "./environment/layers.ts";
import { readRetrySetup } from "./environment/recipe.ts";
import {
  type ProposalResult,
  type Propose,
  readRequestMode,
  type RequestMode,
  RunRequest,
} from "./pull-request.ts";
import { checkRemoteUrl, pinAddresses, readRemoteRef, type RemotePolicy } from "./remote-ref.ts";
import { RepositoryCache } from "./repository-cache.ts";
import type { ScanLimits } from "./change/scan.ts";
import { commitMessage } from "./commit-message.ts";
import { isPlan, newId, type RunPlan } from "./run-plan.ts";
import { type QueueLimits, TurnQueue } from "./turn-queue.ts";
import { Bases } from "./workspace/bases.ts";
import type { FileOwner, WorkspaceDriver } from "./workspace/driver.ts";
import type { RunUsers } from "./workspace/run-users.ts";
import { Tidy } from "./workspace/tidy.ts";
import { type Workspace, Workspaces } from "./workspace/workspace.ts";
import { WorkspaceFiles } from "./workspace-files.ts";

export interface RunsOptions {
  /** The folder for caches and workspaces. */
  readonly folder: string;
  readonly driver: WorkspaceDriver;
  readonly policy: RemotePolicy;
  readonly scan: ScanLimits;
  /** How many turns may run at once. */
  readonly turns: QueueLimits;
  /** How many bases are kept for each repository. */
  readonly mostBases: number;
  /** Milliseconds after which a closed workspace hibernates even if it has files that git ignores. */
  readonly hibernateAfter: number;
  /** Credentials for a repository, and the author of commits. */
  readonly identify: (url: string) => Promise<{ credentials: Credentials; author: Author }>;
  readonly coAuthor?: Author | undefined;
  /** How repositories are set up before agents work on them; undefined if none is. */
  readonly setup?: RunSetup | undefined;
  /** System users, one for each workspace; undefined if all run as our own user. */
  readonly users?: RunUsers | undefined;
  /** Whether pull requests are opened, unless a client asks for something else. */
  readonly pullRequest?: { readonly mode: RequestMode; readonly propose: Propose } | undefined;
  /** When a failed push is retried; by default after half a minute at first. */
  readonly pushAgain?: BackoffLimits | undefined;
  /** Resolves host names; by default as the system does. */
  readonly lookup?: ResolveHost | undefined;
  readonly log: Log;
}

const PUSH_AGAIN: BackoffLimits = {
  firstWait: 30_000,
  longestWait: 10 * 60_000,
  mostFailures: 100,
  rest: 60 * 60_000,
};

/** Runs of agents on revisions of repositories. */
export class Runs implements AsyncDisposable {
  readonly #options: RunsOptions;
  readonly #cache: RepositoryCache;
  readonly #workspaces: Workspaces;
  readonly #queue: TurnQueue;
  readonly #tidy: Tidy;
  readonly #environments: Environments | undefined;

  private constructor(options: RunsOptions, askpass: string) {
    const { folder, driver, mostBases, policy, log, setup, users } = options;
    this.#options = options;
    this.#queue = new TurnQueue(options.turns);
    const resolve: ResolveHost = (host) => pinAddresses({ host }, policy, options.lookup);
    const common = { askpass, protocols: policy.protocols, resolve };
    const report = (event: string, fields: Record<string, unknown>): void => {
      log.warn(event, fields);
    };
    this.#cache = new RepositoryCache({ folder: join(folder, "cache"), report, ...common });
    const bases = new Bases({ folder: join(folder, "bases"), most: mostBases });
    const layers = new Layers({ folder: join(folder, "layers"), most: setup?.mostLayers ?? 0 });
    const work = join(folder, "work");
    const abandoned = async (name: string): Promise<void> => {
      await setup?.removePlace(name, users?.of(name));
      users?.free(name);
    };
    const kept = { folder: work, bases, layers, driver, abandoned };
    const workspaces = new Workspaces({ ...kept, ...common });
    this.#workspaces = workspaces;
    this.#tidy = new Tidy({ ...options, workspaces, cache: this.#cache });
    if (setup === undefined) return;
    this.#environments = new Environments({ ...setup, layers, workspaces, driver, users, log });
  }

  static async open(options: RunsOptions): Promise<Runs> {
    await mkdir(options.folder, { recursive: true, mode: 0o711 });
    return new Runs(options, await writeAskpass(options.folder));
  }

  /** Stops background work. Open runs end with their sessions. */
  async [Symbol.asyncDispose](): Promise<void> {
    const tidied = this.#tidy[Symbol.asyncDispose]();
    await this.#workspaces[Symbol.asyncDispose]();
    await tidied;
    await this.#cache[Symbol.asyncDispose]();
  }

  /** Reads a client's request. Undefined if it does not ask for a run. */
  plan(meta: unknown): RunPlan | undefined {
    const ref = readRemoteRef(meta);
    if (ref === undefined) return undefined;
    checkRemoteUrl(ref.url, this.#options.policy);
    const workspace = newId();
    const pullRequest = readRequestMode(meta, this.#options.pullRequest?.mode ?? "off");
    const retrySetup = readRetrySetup(meta);
    return { ...ref, workspace, target: `agent/${workspace}`, pullRequest, retrySetup };
  }

  /** The folder of a run's files, which may not exist yet. */
  treeOf({ workspace }: RunPlan): string {
    return join(this.#options.folder, "work", workspace, "tree");
  }

  /** Opens a run. `plan` is what was stored for it. */
  async open(plan: unknown, session: string): Promise<Run> {
    if (!isPlan(plan)) {
      throw new TrunklineError(
        "usage",
        `Cannot open session '${session}' as a remote run: no plan is stored for it.`,
      );
    }
    checkRemoteUrl(plan.url, this.#options.policy);
    const { credentials, author } = await this.#options.identify(plan.url);
    const repository = this.#cache.at(plan.url, credentials);
    const [workspaces, queue, environments] = [this.#workspaces, this.#queue, this.#environments];
    return new Run({
      ...this.#options,
      plan,
      session,
      credentials,
      author,
      repository,
      workspaces,
      queue,
      environments,
    });
  }

  /** Removes everything that is stored about a run. */
  async remove(plan: unknown): Promise<void> {
    if (!isPlan(plan)) return;
    const { credentials } = await this.#options.identify(plan.url);
    await this.#workspaces.remove(plan.workspace, this.#cache.at(plan.url, credentials));
  }
}

interface RunOptions extends RunsOptions {
  readonly plan: RunPlan;
  readonly session: string;
  readonly credentials: Credentials;
  readonly author: Author;
  readonly repository: ReturnType<RepositoryCache["at"]>;
  readonly workspaces: Workspaces;
  readonly queue: TurnQueue;
  readonly environments: Environments | undefined;
}

/** Shortest interval between checkpoints, in milliseconds. */
const CHECKPOINT_EVERY = 2_000;

/** A run while its session is open. */
export class Run {
  readonly #options: RunOptions;
  #workspace: Workspace | undefined;
  #deliverer: Deliverer | undefined;
  readonly #planned: Target;
  #pushed: Target | undefined;
  #request: RunRequest | undefined;
  /** Git commands run one after another in a workspace. */
  #lane: Promise<unknown> = Promise.resolve();
  #checkpoint: NodeJS.Timeout | undefined;
  readonly #backoff: Backoff;
  #pushing: NodeJS.Timeout | undefined;
  readonly #stopper = new Stopper();
  #isStopped = false;

  constructor(options: RunOptions) {
    this.#options = options;
    const { url, target, revision } = options.plan;
    this.#planned = { url, branch: target, revision };
    this.#backoff = new Backoff(options.pushAgain ?? PUSH_AGAIN);
  }

  get plan(): RunPlan {
    return this.#options.plan;
  }

  /** The branch and its commit on the remote; until the first push, the commit that work began with. */
  get target(): Target {
    return this.#pushed ?? this.#planned;
  }

  /** The branch and its commit on the remote; undefined until the first push. */
  get pushed(): Target | undefined {
    return this.#pushed;
  }

  /** The workspace, once it is ready. */
  get workspace(): Workspace {
    if (this.#workspace !== undefined) return this.#workspace;
    throw new TrunklineError("unavailable", "The workspace is not ready yet.");
  }

  /** The owner of its files, if that is not our own user. */
  get owner(): FileOwner | undefined {
    return this.#options.users?.of(this.plan.workspace);
  }

  /** The folder of the objects that its repository uses as alternates. */
  get objects(): string {
    return this.#options.repository.objects;
  }

  get files(): WorkspaceFiles {
    return new WorkspaceFiles(this.workspace.tree, this.owner);
  }

  /** Prepares the workspace. */
  async prepare(tell: (message: string) => void): Promise<Workspace> {
    const { plan, repository, credentials, workspaces } = this.#options;
    const { url, branch, revision, workspace: session } = plan;
    if (!(await repository.has(revision))) tell(`Fetching ${revision.slice(0, 12)} of ${url} …`);
    await repository.need({ url, branch, revision }, credentials);
    const layer = await this.#layer(tell);
    const workspace = await workspaces.open({
      session,
      repository,
      revision,
      branch: plan.target,
      owner: this.owner,
      layer,
      keep: layer?.keep,
    });
    this.#workspace = workspace;
    this.#deliverer = this.#deliverTo(workspace.git, workspace.tree);
    await this.#deliverer.begin(revision);
    await this.#takeUp(workspace, this.#deliverer);
    if (!this.#isStopped)
      background(repository.fill(credentials), "Fetching the history of a repository");
    return workspace;
  }

  /** Reads what earlier turns have pushed. */
  async #takeUp({ git, isNew }: Workspace, deliverer: Deliverer): Promise<void> {
    const revision = isNew ? undefined : await deliverer.pushed();
    if (revision !== undefined) this.#pushed = { ...this.#planned, revision };
    const { pullRequest, session, plan } = this.#options;
    const { branch: base, pullRequest: mode = "off" } = plan;
    if (pullRequest === undefined || mode === "off") return;
    const { propose } = pullRequest;
    this.#request = new RunRequest({ git, session, base, isDraft: mode === "draft", propose });
  }

  /** Its pull request, if there is one. */
  get pullRequest(): RunRequest["known"] {
    return this.#request?.known;
  }

  /** Opens or updates the pull request. Undefined if none is wanted, or it is up to date. */
  async propose(): Promise<ProposalResult | undefined> {
    const [request, pushed] = [this.#request, this.#pushed];
    if (request === undefined || pushed === undefined) return undefined;
    return await this.#inOrder(() => request.update(pushed));
  }

  /** Throws "untrusted" or "unavailable" if it will not be possible to push. */
  checkPush(): Promise<void> {
    return this.#options.repository.checkPush(() => this.#need().checkPush());
  }

  /** Waits for a slot for a turn. `moved` is called with its position in the queue. */
  enter({ principal, stop }: Turn, moved: (position: number) => void): Promise<Disposable> {
    return this.#options.queue.enter(principal.id, stop, moved);
  }

  /** Commits and pushes the changes of a turn. */
  deliver(turn: Turn): Promise<Delivery> {
    clearTimeout(this.#checkpoint);
    const { title, body } = commitMessage(turn);
    return this.#inOrder(async () => {
      const delivery = await this.#need().deliver(title, body);
      if (delivery.kind === "pushed") this.#pushed = delivery.target;
      if (delivery.kind === "unpushed") this.#options.repository.forgetPushCheck();
      return delivery;
    });
  }

  /**
   * Pushes commits that are not on the remote, and retries until that succeeds or the run is closed.
   * `pushed` is called on success.
   */
  async pushKept(pushed: (target: Target) => void): Promise<void> {
    clearTimeout(this.#pushing);
    const delivery = await this.#inOrder(() => this.#need().pushKept());
    if (delivery.kind === "unpushed") return this.pushLater(pushed);
    this.#backoff.succeeded();
    if (delivery.kind !== "pushed") return;
    this.#pushed = delivery.target;
    pushed(delivery.target);
  }

  /** Retries the push after a while. */
  pushLater(pushed: (target: Target) => void): void {
    if (this.#isStopped) return;
    clearTimeout(this.#pushing);
    this.#pushing = setTimeout(() => {
      background(this.pushKept(pushed), "Pushing what could not be pushed before");
    }, this.#backoff.failed());
  }

  /** Stores the current files as a checkpoint; a failure loses only the checkpoint. */
  async checkpoint(): Promise<void> {
    clearTimeout(this.#checkpoint);
    this.#checkpoint = undefined;
    await this.#inOrder(() => this.#need().checkpoint()).catch((error: unknown) => {
      const { workspace } = this.plan;
      this.#options.log.warn("run.no-checkpoint", { workspace, error });
    });
  }

  /** Stores a checkpoint after the interval. */
  checkpointSoon(): void {
    this.#checkpoint ??= setTimeout(
      () => background(this.checkpoint(), "Storing a checkpoint of a run"),
      CHECKPOINT_EVERY,
    );
  }

  stop(): void {
    this.#isStopped = true;
    this.#request?.stop();
    this.#stopper.stop(new TrunklineError("unavailable", "The session has ended."));
    clearTimeout(this.#checkpoint);
    clearTimeout(this.#pushing);
  }

  /** Releases the workspace, which stays on disk. */
  async close(): Promise<void> {
    this.stop();
    await this.#lane;
    await this.#workspace?.close();
  }

  /** The layer of set-up that the workspace begins with. */
  #layer(tell: (message: string) => void): Promise<Layer | undefined> | undefined {
    const { plan, repository, credentials, environments } = this.#options;
    const { workspace, revision, retrySetup: retry = false } = plan;
    // A missing right to push is reported now, not after minutes of set-up.
    const check = (): Promise<void> =>
      this.#deliverTo(repository.git, repository.git.gitDir).checkPush(revision);
    const request = { workspace, repository, credentials, revision, retry, tell, check };
    return environments?.prepare({ ...request, stop: this.#stopper });
  }

  #deliverTo(git: ServerGit, tree: string): Deliverer {
    const { plan, session, author, coAuthor, credentials, scan } = this.#options;
    return new Deliverer({
      git,
      tree,
      url: plan.url,
      branch: plan.target,
      session,
      author,
      coAuthor,
      credentials,
      limits: scan,
    });
  }

  #need(): Deliverer {
    if (this.#deliverer !== undefined) return this.#deliverer;
    throw new TrunklineError("unavailable", "The workspace is not ready yet.");
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#lane.then(work);
    this.#lane = result.catch(() => {});
    return result;
  }
}

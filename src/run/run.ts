import type { Semaphore } from "../base/limit/semaphore.ts";
import { TaskQueue } from "../base/limit/task-queue.ts";
import { background } from "../base/background.ts";
import { TrunklineError } from "../base/errors.ts";
import { Backoff, type BackoffLimits } from "../base/limit/backoff.ts";
import { maskWhole } from "../base/text/mask.ts";
import type { ServerGit } from "../git/server/server-git.ts";
import type { Turn, ClientFiles } from "../session/agent.ts";
import {
  type RunActor,
  CHECKPOINT,
  Deliverer,
  type Delivery,
  PUSHED,
  type RunTarget,
} from "./deliver.ts";
import {
  type RevisionContent,
  type ContentFetcher,
  objectFolders,
  PLAIN,
} from "./content/content.ts";
import type { Environments } from "./environment/environments.ts";
import type { SetupLayer } from "./environment/layers.ts";
import { type ProposalResult, RunRequest } from "./pull-request.ts";
import type { RepositoryCache } from "./repository-cache.ts";
import { type EffectiveLimits, limitsFor } from "./run-limits.ts";
import type { RunPlan } from "./run-plan.ts";
import type { FileOwner } from "./workspace/driver.ts";
import type { Workspace, WorkspaceRequest, Workspaces } from "./workspace/workspace.ts";
import { type CheckpointedRun, packWorkspace } from "./workspace/shared-checkpoints.ts";
import type { RunsOptions } from "./runs.ts";
import { constants } from "node:fs";
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { relative, sep } from "node:path";
import { overwrite } from "../base/file/overwrite.ts";
import { readRegularFile, UnfitFileError } from "../base/file/read-regular-file.ts";
import { SessionError } from "../session/session-error.ts";
import { fileProblem, linesOf, noFile } from "../session/text-file.ts";
import { folderBelow, nameIn, openFolder } from "./open-below.ts";

const LONGEST_TITLE = 72;

/** The message of a turn's commit: the first line of the prompt as the title, the rest as the body. */
export function commitMessage({ prompt }: Pick<Turn, "prompt">): { title: string; body: string } {
  const texts = prompt.filter(({ type }) => type === "text").map(({ text }) => String(text));
  // The prompt may contain a token that the agent should use.
  const [first = "", ...rest] = maskWhole(texts.join("\n")).trim().split("\n");
  const line = first.replaceAll(/\p{Cc}+/gu, " ").trim() || "Changes by an agent";
  if (line.length <= LONGEST_TITLE) return { title: line, body: rest.join("\n").trim() };
  return { title: `${line.slice(0, LONGEST_TITLE - 1)}…`, body: [line, ...rest].join("\n").trim() };
}

const PUSH_AGAIN: BackoffLimits = {
  firstWait: 30_000,
  longestWait: 10 * 60_000,
  mostFailures: 100,
  rest: 60 * 60_000,
};

/** What is stored about a run with its session, so that every process sees it at once. */
export interface PushMemory {
  /** The commit that was pushed last. */
  readonly pushed: string | undefined;
  hasPushed(revision: string): Promise<void>;
}

/** What a run is opened with. */
interface RunOptions extends RunsOptions, RunActor {
  readonly memory?: PushMemory | undefined;
  readonly plan: RunPlan;
  readonly session: string;
  readonly repository: ReturnType<RepositoryCache["at"]>;
  readonly workspaces: Workspaces;
  readonly contents: ContentFetcher;
  readonly queue: Semaphore;
  readonly environments: Environments | undefined;
}

/** Shortest interval between checkpoints, in milliseconds. */
const CHECKPOINT_EVERY = 2_000;

/** A run while its session is open. */
export class Run {
  readonly #options: RunOptions;
  #workspace: Workspace | undefined;
  #deliverer: Deliverer | undefined;
  readonly #planned: RunTarget;
  #pushed: RunTarget | undefined;
  #variables: Readonly<Record<string, string>> = {};
  #request: RunRequest | undefined;
  /** Git commands run one after another in a workspace. */
  readonly #queue = new TaskQueue();
  #checkpoint: NodeJS.Timeout | undefined;
  readonly #backoff: Backoff;
  #pushing: NodeJS.Timeout | undefined;
  readonly #stopper = new AbortController();
  #isStopped = false;

  constructor(options: RunOptions) {
    this.#options = options;
    const { url, target, revision } = options.plan;
    this.#planned = { url, branch: target, revision };
    const { pushed } = options.memory ?? {};
    if (pushed !== undefined) this.#pushed = { ...this.#planned, revision: pushed };
    this.#backoff = new Backoff(options.pushAgain ?? PUSH_AGAIN);
  }

  get plan(): RunPlan {
    return this.#options.plan;
  }

  /** The branch and its commit on the remote; until the first push, the commit that work began with. */
  get target(): RunTarget {
    return this.#pushed ?? this.#planned;
  }

  /** The branch and its commit on the remote; undefined until the first push. */
  get pushed(): RunTarget | undefined {
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

  /** What it may use. */
  get limits(): EffectiveLimits {
    const { limitsOf, plan } = this.#options;
    return limitsOf?.(plan) ?? limitsFor({}, plan.url);
  }

  /** Variables of its repository for its agent. */
  get variables(): Readonly<Record<string, string>> {
    return this.#variables;
  }

  /** The folders of the objects that git needs in its workspace. */
  get objects(): readonly string[] {
    return objectFolders(this.#options.repository, this.workspace.content);
  }

  get files(): WorkspaceFiles {
    return new WorkspaceFiles(this.workspace.tree, this.owner);
  }

  /** Prepares the workspace. */
  async prepare(tell: (message: string) => void): Promise<Workspace> {
    const { plan, repository, credentials, workspaces, contents, environments } = this.#options;
    const { url, branch, revision, workspace: session } = plan;
    if (!(await repository.has(revision))) tell(`Fetching ${revision.slice(0, 12)} of ${url} …`);
    await repository.need({ url, branch, revision }, credentials);
    const { within } = plan;
    const { signal } = this.#stopper;
    const wanted = { repository, revision, credentials, within, signal, tell };
    const content = await contents.need(wanted);
    signal.throwIfAborted();
    const layer = await this.#layer(tell, content);
    this.#variables = (await environments?.variables(repository, revision)) ?? {};
    const request: WorkspaceRequest = {
      session,
      repository,
      revision,
      branch: plan.target,
      owner: this.owner,
      content,
      layer,
      keep: layer?.keep,
    };
    await this.#carryIn(request, tell);
    const workspace = await workspaces.open(request);
    this.#workspace = workspace;
    this.#deliverer = this.#deliverTo(workspace.git, workspace.tree, workspace.content);
    await this.#deliverer.begin(revision);
    await this.#takeUp(workspace, this.#deliverer);
    if (!this.#isStopped)
      background(repository.fill(credentials), "Fetching the history of a repository");
    return workspace;
  }

  get #carriedRun(): CheckpointedRun {
    return { workspace: this.plan.workspace, session: this.#options.session };
  }

  /** Gets the workspace from the machine that worked in it last, if that is another one. */
  async #carryIn(request: WorkspaceRequest, tell: (message: string) => void): Promise<void> {
    const { carried, workspaces } = this.#options;
    const packed = await carried?.load(this.#carriedRun, workspaces.has(request.session));
    if (packed === undefined) return;
    tell("Continuing with the files of the last checkpoint …");
    await workspaces.carryIn(request, packed, CHECKPOINT);
  }

  /** Stores what another machine needs to continue. */
  async #carryOut(): Promise<void> {
    const { carried, plan } = this.#options;
    if (carried === undefined) return;
    const refs = [`refs/heads/${plan.target}`, CHECKPOINT, PUSHED];
    const packed = await packWorkspace(this.workspace.git, plan.revision, refs);
    if (packed !== undefined) await carried.save(this.#carriedRun, packed);
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
    return await this.#queue.run(() => request.update(pushed));
  }

  /** Throws "untrusted" or "unavailable" if it will not be possible to push. */
  checkPush(): Promise<void> {
    return this.#options.repository.checkPush(() => this.#need().checkPush());
  }

  /** Waits for a slot for a turn. `moved` is called with its position in the queue. */
  enter({ principal, signal }: Turn, moved: (position: number) => void): Promise<Disposable> {
    return this.#options.queue.enter({ key: principal.id, signal, moved });
  }

  /** Commits and pushes the changes of a turn. */
  deliver(turn: Turn): Promise<Delivery> {
    clearTimeout(this.#checkpoint);
    const { title, body } = commitMessage(turn);
    return this.#queue.run(async () => {
      const delivery = await this.#need().deliver(title, body);
      if (delivery.kind === "pushed") {
        await this.#hasPushed(delivery.target);
        await this.#carryOut().catch(this.#notCarried);
      }
      if (delivery.kind === "unpushed") this.#options.repository.forgetPushCheck();
      return delivery;
    });
  }

  async #hasPushed(target: RunTarget): Promise<void> {
    this.#pushed = target;
    await this.#options.memory?.hasPushed(target.revision).catch(this.#notCarried);
  }

  /**
   * Pushes commits that are not on the remote, and retries until that succeeds or the run is closed.
   * `pushed` is called on success.
   */
  async pushKept(pushed: (target: RunTarget) => void): Promise<void> {
    clearTimeout(this.#pushing);
    const delivery = await this.#queue.run(() => this.#need().pushKept());
    if (delivery.kind === "unpushed") return this.pushLater(pushed);
    this.#backoff.succeeded();
    if (delivery.kind !== "pushed") return;
    await this.#hasPushed(delivery.target);
    pushed(delivery.target);
  }

  /** Retries the push after a while. */
  pushLater(pushed: (target: RunTarget) => void): void {
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
    const stored = this.#queue.run(async () => {
      await this.#need().checkpoint();
      await this.#carryOut();
    });
    await stored.catch(this.#notCarried);
  }

  readonly #notCarried = (error: unknown): void => {
    this.#options.log.warn("run.no-checkpoint", { workspace: this.plan.workspace, error });
  };

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
    this.#stopper.abort(new TrunklineError("unavailable", "The session has ended."));
    clearTimeout(this.#checkpoint);
    clearTimeout(this.#pushing);
  }

  /** Releases the workspace, which stays on disk. */
  async close(): Promise<void> {
    this.stop();
    await this.#queue.idle();
    await this.#workspace?.close();
  }

  /** The layer of set-up that the workspace begins with. */
  #layer(
    tell: (message: string) => void,
    content: RevisionContent,
  ): Promise<SetupLayer | undefined> | undefined {
    const { plan, repository, credentials, environments } = this.#options;
    const { workspace, revision, retrySetup: retry = false } = plan;
    // A missing right to push is reported now, not after minutes of set-up.
    const check = (): Promise<void> =>
      this.#deliverTo(repository.git, repository.git.gitDir).checkPush(revision);
    const request = { workspace, repository, credentials, revision, content, retry, tell, check };
    return environments?.prepare({ ...request, signal: this.#stopper.signal });
  }

  #deliverTo(git: ServerGit, tree: string, { submodules } = PLAIN): Deliverer {
    const { plan, scan: limits } = this.#options;
    return new Deliverer({
      ...this.#options,
      ...{ git, tree, limits, submodules, url: plan.url, branch: plan.target },
      pushing: () => this.#carryOut(),
    });
  }

  #need(): Deliverer {
    if (this.#deliverer !== undefined) return this.#deliverer;
    throw new TrunklineError("unavailable", "The workspace is not ready yet.");
  }
}

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
const LARGEST = 10 * 1024 * 1024;

/** The files of a workspace for an agent that asks for them by `fs/*`. No link leads out of them. */
export class WorkspaceFiles implements ClientFiles {
  readonly #tree: string;
  readonly #owner: FileOwner | undefined;

  constructor(tree: string, owner: FileOwner | undefined) {
    this.#tree = tree;
    this.#owner = owner;
  }

  readonly readTextFile = async (
    path: string,
    range: { line?: number; limit?: number } = {},
  ): Promise<string> => {
    this.#stepsTo(path);
    try {
      const limits = { most: LARGEST, followsLinks: false, inside: [this.#tree] };
      const bytes = readRegularFile(path, limits);
      if (bytes === undefined) throw noFile(path);
      return linesOf(bytes.toString("utf8"), range);
    } catch (error) {
      throw fileProblem(error, path);
    }
  };

  readonly writeTextFile = async (path: string, content: string): Promise<void> => {
    await using file = await this.#openToWrite(path);
    if (!(await file.stat()).isFile()) {
      throw fileProblem(new UnfitFileError("it is not a regular file"), path);
    }
    overwrite(file.fd, content);
  };

  /** The folders on the way, and the name of the file. Throws for what is not in the tree, or is git's own. */
  #stepsTo(path: string): string[] {
    const steps = relative(this.#tree, path).split(sep);
    const name = steps.at(-1) ?? "";
    if (steps[0] === ".." || name === ".." || name === "" || name === ".") throw notInTree(path);
    if (steps.some((step) => step.toLowerCase() === ".git")) throw notInTree(path);
    return steps;
  }

  async #openToWrite(path: string): Promise<FileHandle> {
    const steps = this.#stepsTo(path).map((step) => Buffer.from(step));
    const name = steps.pop() ?? Buffer.alloc(0);
    try {
      await using folder = await folderBelow(this.#tree, steps, this.#enterOrMake);
      const flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
      const file = await open(nameIn(folder, name), flags, 0o644);
      await this.#give(file);
      return file;
    } catch (error) {
      throw fileProblem(error, path);
    }
  }

  readonly #enterOrMake = async (folder: FileHandle, step: Buffer): Promise<FileHandle> => {
    try {
      return await openFolder(folder, step);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    await mkdir(nameIn(folder, step), { mode: 0o755 });
    const made = await openFolder(folder, step);
    await this.#give(made);
    return made;
  };

  async #give(file: FileHandle): Promise<void> {
    if (this.#owner !== undefined) await file.chown(this.#owner.uid, this.#owner.gid);
  }
}

function notInTree(path: string): SessionError {
  return new SessionError("permission-denied", `'${path}' is not a file of the workspace`, {
    path,
  });
}

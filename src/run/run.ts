import type { Semaphore } from "../base/limit/semaphore.ts";
import { TaskQueue } from "../base/limit/task-queue.ts";
import { background } from "../base/background.ts";
import { TrunklineError } from "../base/errors.ts";
import { Backoff, type BackoffLimits } from "../base/limit/backoff.ts";
import { maskWhole } from "../base/text/mask.ts";
import type { ServerGit } from "../git/server/server-git.ts";
import type { Turn } from "../session/agent.ts";
import {
  type RunActor,
  CHECKPOINT,
  type Deliverer,
  delivererFor,
  type Delivery,
  PUSHED,
  type RunTarget,
} from "./deliver.ts";
import { type ContentFetcher, objectFolders, PLAIN } from "./content/content.ts";
import type { Environments } from "./environment/environments.ts";
import { type ProposalResult, type RunRequest, openRequest } from "./pull-request.ts";
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

export type Run = ReturnType<typeof openRun>;

/** A run while its session is open. */
export function openRun(options: RunOptions) {
  const { plan, session, repository, credentials, workspaces, environments, carried } = options;
  const planned: RunTarget = { url: plan.url, branch: plan.target, revision: plan.revision };
  const before = options.memory?.pushed;
  let pushed = before === undefined ? undefined : { ...planned, revision: before };
  let workspace: Workspace | undefined;
  let deliverer: Deliverer | undefined;
  let variables: Readonly<Record<string, string>> = {};
  let request: RunRequest | undefined;
  /** Git commands run one after another in a workspace. */
  const queue = new TaskQueue();
  const backoff = new Backoff(options.pushAgain ?? PUSH_AGAIN);
  const stopper = new AbortController();
  const { signal } = stopper;
  let checkpointing: NodeJS.Timeout | undefined;
  let pushing: NodeJS.Timeout | undefined;

  const need = <T>(part: T | undefined): T => {
    if (part !== undefined) return part;
    throw new TrunklineError("unavailable", "The workspace is not ready yet.");
  };
  const ownerOf = (): FileOwner | undefined => options.users?.of(plan.workspace);
  const carriedRun: CheckpointedRun = { workspace: plan.workspace, session };
  const notCarried = (error: unknown): void => {
    options.log.warn("run.no-checkpoint", { workspace: plan.workspace, error });
  };

  /** Gets the workspace from the machine that worked in it last, if that is another one. */
  const carryIn = async (wanted: WorkspaceRequest, tell: (message: string) => void) => {
    const packed = await carried?.load(carriedRun, workspaces.has(wanted.session));
    if (packed === undefined) return;
    tell("Continuing with the files of the last checkpoint …");
    await workspaces.carryIn(wanted, packed, CHECKPOINT);
  };

  /** Stores what another machine needs to continue. */
  const carryOut = async (): Promise<void> => {
    if (carried === undefined) return;
    const refs = [`refs/heads/${plan.target}`, CHECKPOINT, PUSHED];
    const packed = await packWorkspace(need(workspace).git, plan.revision, refs);
    if (packed !== undefined) await carried.save(carriedRun, packed);
  };

  const deliverTo = (git: ServerGit, tree: string, { submodules } = PLAIN): Deliverer =>
    delivererFor({
      ...options,
      ...{ git, tree, limits: options.scan, submodules, url: plan.url, branch: plan.target },
      pushing: carryOut,
    });

  /** Reads what earlier turns have pushed. */
  const takeUp = async ({ git, isNew }: Workspace): Promise<void> => {
    const revision = isNew ? undefined : await need(deliverer).pushed();
    if (revision !== undefined) pushed = { ...planned, revision };
    const { branch: base, pullRequest: mode = "off" } = plan;
    if (options.pullRequest === undefined || mode === "off") return;
    const { propose } = options.pullRequest;
    request = openRequest({ git, session, base, isDraft: mode === "draft", propose });
  };

  const hasPushed = async (target: RunTarget): Promise<void> => {
    pushed = target;
    await options.memory?.hasPushed(target.revision).catch(notCarried);
  };

  /** Retries the push after a while. */
  const pushLater = (told: (target: RunTarget) => void): void => {
    if (signal.aborted) return;
    clearTimeout(pushing);
    const again = (): void => background(pushKept(told), "Pushing what could not be pushed before");
    pushing = setTimeout(again, backoff.failed());
  };

  /**
   * Pushes commits that are not on the remote, and retries until that succeeds or the run is closed.
   * `told` is called on success.
   */
  const pushKept = async (told: (target: RunTarget) => void): Promise<void> => {
    clearTimeout(pushing);
    const delivery = await queue.run(() => need(deliverer).pushKept());
    if (delivery.kind === "unpushed") return pushLater(told);
    backoff.succeeded();
    if (delivery.kind !== "pushed") return;
    await hasPushed(delivery.target);
    told(delivery.target);
  };

  /** Stores the current files as a checkpoint; a failure loses only the checkpoint. */
  const checkpoint = async (): Promise<void> => {
    clearTimeout(checkpointing);
    checkpointing = undefined;
    const stored = queue.run(async () => {
      await need(deliverer).checkpoint();
      await carryOut();
    });
    await stored.catch(notCarried);
  };

  const stop = (): void => {
    request?.stop();
    stopper.abort(new TrunklineError("unavailable", "The session has ended."));
    clearTimeout(checkpointing);
    clearTimeout(pushing);
  };

  return {
    ...{ plan, pushKept, pushLater, checkpoint, stop },

    /** The branch and its commit on the remote; until the first push, the commit that work began with. */
    get target(): RunTarget {
      return pushed ?? planned;
    },

    /** The branch and its commit on the remote; undefined until the first push. */
    get pushed() {
      return pushed;
    },

    /** The workspace, once it is ready. */
    get workspace() {
      return need(workspace);
    },

    /** The owner of its files, if that is not our own user. */
    get owner() {
      return ownerOf();
    },

    /** What it may use. */
    get limits(): EffectiveLimits {
      return options.limitsOf?.(plan) ?? limitsFor({}, plan.url);
    },

    /** Variables of its repository for its agent. */
    get variables() {
      return variables;
    },

    /** The folders of the objects that git needs in its workspace. */
    get objects() {
      return objectFolders(repository, need(workspace).content);
    },

    get files() {
      return workspaceFiles(need(workspace).tree, ownerOf());
    },

    /** Its pull request, if there is one. */
    get pullRequest() {
      return request?.known;
    },

    /** Prepares the workspace. */
    async prepare(tell: (message: string) => void): Promise<Workspace> {
      const { url, branch, revision, within, retrySetup: retry = false } = plan;
      if (!(await repository.has(revision))) tell(`Fetching ${revision.slice(0, 12)} of ${url} …`);
      await repository.need({ url, branch, revision }, credentials);
      const wanted = { repository, revision, credentials, within, signal, tell };
      const content = await options.contents.need(wanted);
      signal.throwIfAborted();
      // The layer of set-up that the workspace begins with.
      const layer = await environments?.prepare({
        ...{ workspace: plan.workspace, repository, credentials, revision, content, retry, tell },
        // A missing right to push is reported now, not after minutes of set-up.
        check: () => deliverTo(repository.git, repository.git.gitDir).checkPush(revision),
        signal,
      });
      variables = (await environments?.variables(repository, revision)) ?? {};
      const opening: WorkspaceRequest = {
        ...{ session: plan.workspace, repository, revision, branch: plan.target },
        ...{ owner: ownerOf(), content, layer, keep: layer?.keep },
      };
      await carryIn(opening, tell);
      workspace = await workspaces.open(opening);
      deliverer = deliverTo(workspace.git, workspace.tree, workspace.content);
      await deliverer.begin(revision);
      await takeUp(workspace);
      if (!signal.aborted)
        background(repository.fill(credentials), "Fetching the history of a repository");
      return workspace;
    },

    /** Opens or updates the pull request. Undefined if none is wanted, or it is up to date. */
    async propose(): Promise<ProposalResult | undefined> {
      const [open, target] = [request, pushed];
      if (open === undefined || target === undefined) return undefined;
      return await queue.run(() => open.update(target));
    },

    /** Throws "untrusted" or "unavailable" if it will not be possible to push. */
    checkPush: () => repository.checkPush(() => need(deliverer).checkPush()),

    /** Waits for a slot for a turn. `moved` is called with its position in the queue. */
    enter: (turn: Turn, moved: (position: number) => void) =>
      options.queue.enter({ key: turn.principal.id, signal: turn.signal, moved }),

    /** Commits and pushes the changes of a turn. */
    deliver(turn: Turn): Promise<Delivery> {
      clearTimeout(checkpointing);
      const { title, body } = commitMessage(turn);
      return queue.run(async () => {
        const delivery = await need(deliverer).deliver(title, body);
        if (delivery.kind === "pushed") {
          await hasPushed(delivery.target);
          await carryOut().catch(notCarried);
        }
        if (delivery.kind === "unpushed") repository.forgetPushCheck();
        return delivery;
      });
    },

    /** Stores a checkpoint after the interval. */
    checkpointSoon(): void {
      const store = (): void => background(checkpoint(), "Storing a checkpoint of a run");
      checkpointing ??= setTimeout(store, CHECKPOINT_EVERY);
    },

    /** Releases the workspace, which stays on disk. */
    async close(): Promise<void> {
      stop();
      await queue.idle();
      await workspace?.close();
    },
  };
}

const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_WRONLY } = constants;
const LARGEST = 10 * 1024 * 1024;

/** The files of a workspace for an agent that asks for them by `fs/*`. No link leads out of them. */
export function workspaceFiles(tree: string, owner: FileOwner | undefined) {
  const readTextFile = async (
    path: string,
    range: { line?: number; limit?: number } = {},
  ): Promise<string> => {
    stepsTo(path);
    try {
      const limits = { most: LARGEST, followsLinks: false, inside: [tree] };
      const bytes = readRegularFile(path, limits);
      if (bytes === undefined) throw noFile(path);
      return linesOf(bytes.toString("utf8"), range);
    } catch (error) {
      throw fileProblem(error, path);
    }
  };
  const writeTextFile = async (path: string, content: string): Promise<void> => {
    await using file = await openToWrite(path);
    if (!(await file.stat()).isFile()) {
      throw fileProblem(new UnfitFileError("it is not a regular file"), path);
    }
    overwrite(file.fd, content);
  };
  const enterOrMake = async (folder: FileHandle, step: Buffer): Promise<FileHandle> => {
    try {
      return await openFolder(folder, step);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
    await mkdir(nameIn(folder, step), { mode: 0o755 });
    const made = await openFolder(folder, step);
    await give(made);
    return made;
  };

  /** The folders on the way, and the name of the file. Throws for what is not in the tree, or is git's own. */
  function stepsTo(path: string): string[] {
    const steps = relative(tree, path).split(sep);
    const name = steps.at(-1) ?? "";
    if (steps[0] === ".." || name === ".." || name === "" || name === ".") throw notInTree(path);
    if (steps.some((step) => step.toLowerCase() === ".git")) throw notInTree(path);
    return steps;
  }

  async function openToWrite(path: string): Promise<FileHandle> {
    const steps = stepsTo(path).map((step) => Buffer.from(step));
    const name = steps.pop() ?? Buffer.alloc(0);
    try {
      await using folder = await folderBelow(tree, steps, enterOrMake);
      const flags = O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK;
      const file = await open(nameIn(folder, name), flags, 0o644);
      await give(file);
      return file;
    } catch (error) {
      throw fileProblem(error, path);
    }
  }

  async function give(file: FileHandle): Promise<void> {
    if (owner !== undefined) await file.chown(owner.uid, owner.gid);
  }

  return { readTextFile, writeTextFile };
}

function notInTree(path: string): SessionError {
  return new SessionError("permission-denied", `'${path}' is not a file of the workspace`, {
    path,
  });
}

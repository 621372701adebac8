import { setTimeout as delay } from "node:timers/promises";

import { onAbort } from "../base/abort.ts";
import { background } from "../base/background.ts";
import { TrunklineError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type { Agent } from "../session/agent.ts";
import type { RemoteRef } from "./remote-ref.ts";
import type { Run } from "./run.ts";
import { newPlan, type RunPlan } from "./run-plan.ts";
import type { Workspace } from "./workspace/workspace.ts";

/** An agent that works in a run's workspace. */
export interface InnerAgent extends Agent, Partial<AsyncDisposable> {
  /** Starts its process, if it has one, before a session needs it. */
  start?(owner: string): Promise<void>;
}

/** A workspace, and an agent in it whose process runs. No session has used them. */
export interface Spare {
  readonly workspace: Workspace;
  readonly agent: InnerAgent;
}

/** What a session has begun with; the next one may begin with the same. */
export interface SpareRequest {
  readonly ref: RemoteRef & Pick<RunPlan, "within" | "token">;
  readonly agent: string;
  /** The principal of the session. A spare is never given to another one. */
  readonly owner: string;
}

export interface SparesOptions {
  /** How many are kept. */
  readonly most: number;
  /** Milliseconds for which one is kept. */
  readonly holds?: number;
  readonly open: (plan: RunPlan) => Promise<Run>;
  readonly inner: (agent: string, run: Run) => Promise<InnerAgent>;
  /** Removes everything that is stored about a run. */
  readonly remove: (plan: RunPlan) => Promise<void>;
  readonly log: Log;
}

const HOLDS = 10 * 60_000;
/** Milliseconds within which a second session has to begin. */
const SOON = 10 * 60_000;
/** Milliseconds after which the session that one was taken for has to be open. */
const RESERVED = 60_000;
/** Milliseconds after a session has begun, so that its answer is sent first. */
const AFTER_ANSWER = 20;
const MOST_REMEMBERED = 100;

/** A spare that is ready, or being prepared. */
interface Entry extends SpareRequest {
  readonly plan: RunPlan;
  readonly stopper: AbortController;
  /** Undefined if it could not be prepared. */
  readonly made: Promise<Spare | undefined>;
  /** Whether `made` is settled. */
  isDone?: boolean;
  timer?: NodeJS.Timeout;
}

/**
 * Prepares the next session in advance. The start of a sandbox and of an agent takes ten times as long as
 * everything else. One is prepared after the second session of a principal on the same revision with the
 * same agent, so that single sessions cost nothing.
 */
export class Spares implements AsyncDisposable {
  readonly #options: SparesOptions;
  /** By key, the oldest first. */
  readonly #kept = new Map<string, Entry>();
  /** Given to a session that is not open yet, by workspace. */
  readonly #reserved = new Map<string, Entry>();
  /** How many sessions wait for a spare that is still being prepared. */
  #waiting = 0;
  /** When a session last began, by key. */
  readonly #begun = new Map<string, number>();
  /** Principals whose access has ended, until they are admitted again. */
  readonly #withoutAccess = new Set<string>();
  readonly #ending = new Set<Promise<void>>();
  #isOver = false;

  constructor(options: SparesOptions) {
    this.#options = options;
  }

  /** Names the workspace of a spare in a plan that fits one. `take` gets it, and has to be called soon. */
  reserve(plan: RunPlan, owner: string): RunPlan {
    this.#withoutAccess.delete(owner);
    // A client that asks for another set-up does not want the result of the last one.
    if (plan.retrySetup === true) return plan;
    for (const [key, entry] of this.#kept) {
      if (entry.owner !== owner || !isSame(entry.ref, plan)) continue;
      this.#kept.delete(key);
      // Sessions come faster than spares: the next is prepared while this session waits, not after it. Of
      // many sessions at once only the first does that, since the others need the processors themselves.
      const isFirst = this.#waiting + this.#reserved.size === 0;
      if (isFirst && entry.isDone !== true) this.#keep(key, entry);
      const { workspace, target } = entry.plan;
      this.#reserved.set(workspace, entry);
      this.#endAfter(RESERVED, entry, () => this.#reserved.delete(workspace));
      return { ...plan, workspace, target };
    }
    return plan;
  }

  /** The spare of a plan that `reserve` has changed. Undefined if there is none; then nothing of it is left. */
  async take(workspace: string, agent: string): Promise<Spare | undefined> {
    const entry = this.#reserved.get(workspace);
    if (entry === undefined) return undefined;
    this.#reserved.delete(workspace);
    clearTimeout(entry.timer);
    this.#waiting++;
    const spare = entry.agent === agent ? await entry.made : undefined;
    this.#waiting--;
    if (spare === undefined) await this.#end(entry);
    return spare;
  }

  /** Notes that a new session has begun, and prepares the next if that is the second one. */
  begun(request: SpareRequest): void {
    // The session may have been beginning when the access of its principal ended.
    if (this.#options.most === 0 || this.#isOver || this.#withoutAccess.has(request.owner)) return;
    const key = keyOf(request);
    const before = this.#begun.get(key) ?? -Infinity;
    const now = performance.now();
    this.#begun.delete(key);
    this.#begun.set(key, now);
    const [oldestKey = key] = this.#begun.keys();
    if (this.#begun.size > MOST_REMEMBERED) this.#begun.delete(oldestKey);
    if (now - before > SOON || this.#kept.has(key)) return;
    this.#keep(key, request);
  }

  /** Prepares one, and ends the oldest if there are too many then. */
  #keep(key: string, request: SpareRequest): void {
    const { most, holds = HOLDS } = this.#options;
    const entry = this.#prepare(request);
    this.#kept.set(key, entry);
    this.#endAfter(holds, entry, () => this.#kept.delete(key));
    if (this.#kept.size <= most) return;
    const [[oldest, removed] = [key, entry]] = this.#kept;
    this.#kept.delete(oldest);
    background(this.#end(removed), "Removing what was prepared for a session");
  }

  /** Ends what was prepared for a principal whose access has ended. */
  endOf(owner: string): void {
    this.#withoutAccess.add(owner);
    this.#endAll((entry) => entry.owner === owner);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    this.#endAll(() => true);
    await Promise.all(this.#ending);
  }

  #endAll(isMeant: (entry: Entry) => boolean): void {
    for (const entries of [this.#kept, this.#reserved]) {
      for (const [key, entry] of entries) {
        if (!isMeant(entry)) continue;
        entries.delete(key);
        background(this.#end(entry), "Removing what was prepared for a session");
      }
    }
  }

  #prepare(request: SpareRequest): Entry {
    const { url, branch, revision, within, token } = request.ref;
    const plan = newPlan({ url, branch, revision }, { within, token });
    const stopper = new AbortController();
    const made = this.#make(request, plan, stopper).catch((error: unknown) => {
      if (!stopper.signal.aborted) this.#options.log.warn("run.not-prepared", { url, error });
      return undefined;
    });
    const { ref, agent, owner } = request;
    const entry: Entry = { ref, agent, owner, plan, stopper, made };
    background(
      made.then(() => (entry.isDone = true)),
      "Noting that a spare is prepared",
    );
    return entry;
  }

  /** Throws if it cannot be prepared, or is stopped before it is. */
  async #make(
    { agent: name, owner }: SpareRequest,
    plan: RunPlan,
    stopper: AbortController,
  ): Promise<Spare> {
    const { signal } = stopper;
    await delay(AFTER_ANSWER);
    signal.throwIfAborted();
    const run = await this.#options.open(plan);
    onAbort(signal, () => run.stop());
    await using ends = new AsyncDisposableStack();
    ends.defer(() => run.close());
    // No session would get the message, such as that set-up has failed, so the spare is given up.
    const tell = (message: string): void => stopper.abort(unheard(message));
    const workspace = await run.prepare(tell, { isSpare: true });
    signal.throwIfAborted();
    const agent = await this.#options.inner(name, run);
    const endAgent = async (): Promise<void> => agent[Symbol.asyncDispose]?.();
    ends.defer(endAgent);
    // An agent may take long to start, or never do so.
    const stopListening = onAbort(signal, () =>
      background(endAgent(), "Ending an agent that starts"),
    );
    await agent.start?.(owner);
    signal.throwIfAborted();
    stopListening();
    ends.move();
    return { workspace, agent };
  }

  #endAfter(milliseconds: number, entry: Entry, forget: () => void): void {
    clearTimeout(entry.timer);
    entry.timer = setTimeout(() => {
      forget();
      background(this.#end(entry), "Removing what was prepared for a session");
    }, milliseconds).unref();
  }

  /** Ends a spare, and removes everything of it. */
  #end(entry: Entry): Promise<void> {
    clearTimeout(entry.timer);
    const ending = this.#remove(entry)
      .catch((error: unknown) => {
        this.#options.log.warn("run.spare-not-removed", { workspace: entry.plan.workspace, error });
      })
      .finally(() => this.#ending.delete(ending));
    this.#ending.add(ending);
    return ending;
  }

  async #remove({ plan, stopper, made }: Entry): Promise<void> {
    stopper.abort(new TrunklineError("closed", "Nobody needs it"));
    const spare = await made;
    await spare?.agent[Symbol.asyncDispose]?.();
    await spare?.workspace.close();
    await this.#options.remove(plan);
  }
}

function unheard(message: string): TrunklineError {
  return new TrunklineError("unavailable", `A session has to be told: ${message}`);
}

function keyOf({ ref, agent, owner }: SpareRequest): string {
  return JSON.stringify([ref.url, ref.revision, agent, owner]);
}

function isSame(one: RemoteRef, other: RemoteRef): boolean {
  return one.url === other.url && one.revision === other.revision;
}

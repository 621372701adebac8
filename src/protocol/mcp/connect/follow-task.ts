import { onAbort } from "../../../base/abort.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { TRUNKLINE } from "../../../rpc/codes.ts";
import { LostRequest, type RequestOptions } from "../../../rpc/pending-requests.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import type { ToolContext } from "../../../tool/tool.ts";
import type { JsonObject } from "../json-object.ts";
import { isObject } from "../../../base/check.ts";
import { passQuestion } from "./questions.ts";
import { questionOf } from "./rounds.ts";

/** The server of a task, and the caller that waits for its end. */
export interface TaskLink {
  readonly context: ToolContext;
  request(method: string, params: JsonObject, options: RequestOptions): Promise<JsonObject>;
  /** Reports progress, with the server's words where it gave any. */
  advanced(message: string | undefined): void;
  /** The listener gets the server's notifications until the returned function is called. */
  hear(taskId: string, listener: TaskListener): () => void;
}

/** Is notified about one task. */
export interface TaskListener {
  /** Called with the current task; without it, the task should be fetched. */
  told(task?: JsonObject): void;
  /** The server is gone. */
  lost(): void;
}

/** Milliseconds between two polls: the default, and the bounds of what a server may ask for. */
const USUAL_POLL = 1_000;
const SHORTEST_POLL = 20;
const LONGEST_POLL = 60_000;
const TIMEOUT = 30_000;
/** Polls in a row that may fail for temporary reasons. */
const MOST_MISSES = 5;
const MOST_QUESTIONS = 200;
const LONGEST_MESSAGE = 2_000;

const OVER: ReadonlySet<unknown> = new Set(["completed", "failed", "cancelled"]);

/**
 * Waits for the end of a call that a server of 2026-07-28 answered with a task, and resolves to the
 * call's result. What the task needs to know is asked of the caller's side; when the caller stops,
 * the task is cancelled.
 */
export async function followTask(created: JsonObject, link: TaskLink): Promise<JsonObject> {
  const { taskId } = created;
  if (typeof taskId !== "string") {
    throw RpcError.of(TRUNKLINE.badAnswer, "the server's task has no 'taskId'");
  }
  return outcomeOf(await new FollowedTask(taskId, created, link).untilOver());
}

class FollowedTask implements TaskListener {
  readonly #id: string;
  readonly #link: TaskLink;
  readonly #asked = new Set<string>();
  readonly #pages: string[] = [];
  readonly #listening = new AbortController();
  /** Rejects when waiting makes no sense any more. */
  readonly #failed = Promise.withResolvers<never>();
  #task: JsonObject;
  #news: JsonObject | undefined;
  #isDue = false;
  #wake: (() => void) | undefined;
  #misses = 0;
  #isLost = false;

  constructor(id: string, created: JsonObject, link: TaskLink) {
    this.#id = id;
    this.#task = created;
    this.#link = link;
    this.#failed.promise.catch(() => {});
  }

  async untilOver(): Promise<JsonObject> {
    const { context } = this.#link;
    using ends = new DisposableStack();
    ends.defer(() => this.#listening.abort(new Error("The task is over")));
    ends.defer(onAbort(context.signal, this.#failed.reject));
    ends.defer(this.#link.hear(this.#id, this));
    try {
      // The answer to the call has no result, even where the task is over already: fetch it.
      if (OVER.has(this.#task.status)) return await this.#get();
      this.#tell(undefined);
      this.#listen();
      while (!OVER.has(this.#task.status)) this.#became((await this.#next()) ?? this.#task);
      for (const id of this.#pages) context.pageDone?.(id);
      return this.#task;
    } catch (error) {
      // A task whose server cannot be reached may be wanted when it can be again.
      if (!this.#isLost) this.#request("tasks/cancel", {}, { timeout: TIMEOUT }).catch(() => {});
      throw error;
    }
  }

  told(task?: JsonObject): void {
    this.#news = task;
    this.#isDue = true;
    this.#wake?.();
  }

  lost(): void {
    this.#isLost = true;
    this.#failed.reject(new TrunklineError("closed", "The connection is closed"));
  }

  /** Listens for changes, which is sooner than polling; not all servers send them, so we poll too. */
  #listen(): void {
    const notifications = { taskIds: [this.#id] };
    const { signal } = this.#listening;
    this.#link.request("subscriptions/listen", { notifications }, { signal }).catch(() => {});
  }

  /** The task after the poll interval, or sooner where the server notifies. */
  async #next(): Promise<JsonObject | undefined> {
    if (!this.#isDue) await this.#pause();
    const news = this.#news;
    this.#news = undefined;
    this.#isDue = false;
    return news ?? Promise.race([this.#look(), this.#failed.promise]);
  }

  async #pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    using _ = setTimeout(resolve, pollInterval(this.#task)).unref();
    this.#wake = resolve;
    await Promise.race([promise, this.#failed.promise]);
  }

  /** Polls once. Undefined after a temporary failure. */
  async #look(): Promise<JsonObject | undefined> {
    try {
      const task = await this.#get();
      this.#misses = 0;
      return task;
    } catch (error) {
      if (this.#link.context.signal.aborted || !isTemporary(error)) throw error;
      if (++this.#misses > MOST_MISSES) throw error;
      return undefined;
    }
  }

  #get(): Promise<JsonObject> {
    return this.#request("tasks/get", {}, { signal: this.#link.context.signal, timeout: TIMEOUT });
  }

  #request(method: string, more: JsonObject, options: RequestOptions): Promise<JsonObject> {
    return this.#link.request(method, { taskId: this.#id, ...more }, options);
  }

  #became(task: JsonObject): void {
    const before = this.#task;
    this.#task = task;
    if (OVER.has(task.status)) return;
    this.#tell(before);
    if (task.status === "input_required" && isObject(task.inputRequests)) {
      this.#answer(task.inputRequests).catch(this.#failed.reject);
    }
  }

  #tell(before: JsonObject | undefined): void {
    const { status, statusMessage, lastUpdatedAt } = this.#task;
    const isNews =
      before === undefined
        ? typeof statusMessage === "string"
        : before.status !== status ||
          before.statusMessage !== statusMessage ||
          before.lastUpdatedAt !== lastUpdatedAt;
    if (!isNews) return;
    const message = typeof statusMessage === "string" ? statusMessage : undefined;
    this.#link.advanced(message?.slice(0, LONGEST_MESSAGE));
  }

  /**
   * MCP 2026-07-28, tasks extension ("tasks/update"): a task lists its open questions with each poll.
   * Each question is asked once, however often the task shows it, and answered on its own.
   */
  async #answer(inputRequests: JsonObject): Promise<void> {
    const fresh = Object.entries(inputRequests).filter(([key]) => !this.#asked.has(key));
    for (const [key] of fresh) this.#asked.add(key);
    if (this.#asked.size > MOST_QUESTIONS) {
      throw RpcError.of(
        TRUNKLINE.badAnswer,
        `the server's task asked over ${MOST_QUESTIONS} times`,
      );
    }
    const { context } = this.#link;
    const answers = fresh.map(async ([key, request]) => {
      const question = questionOf(key, request);
      const answer = await passQuestion(context, question, (id) => this.#pages.push(id));
      if (!OVER.has(this.#task.status)) await this.#give({ [key]: answer });
    });
    await Promise.all(answers);
  }

  async #give(inputResponses: JsonObject): Promise<void> {
    const options = { signal: this.#link.context.signal, timeout: TIMEOUT };
    try {
      await this.#request("tasks/update", { inputResponses }, options);
      // The task may continue at once: poll now.
      this.told();
    } catch (error) {
      // The task may have ended without the answer.
      const task = await this.#get();
      if (!OVER.has(task.status)) throw error;
      this.told(task);
    }
  }
}

function pollInterval({ pollIntervalMs }: JsonObject): number {
  if (typeof pollIntervalMs !== "number" || Number.isNaN(pollIntervalMs)) return USUAL_POLL;
  return Math.min(LONGEST_POLL, Math.max(SHORTEST_POLL, pollIntervalMs));
}

/** Whether a failed poll says nothing about the task: lost, timed out, or refused for load. */
function isTemporary(error: unknown): boolean {
  if (error instanceof LostRequest) return true;
  if (error instanceof TrunklineError) return error.code === "timeout";
  const status = error instanceof RpcError && isObject(error.data) ? error.data.status : undefined;
  return typeof status === "number" && (status === 429 || status >= 500);
}

function outcomeOf({ status, result, error, statusMessage }: JsonObject): JsonObject {
  if (status === "completed" && isObject(result)) return result;
  if (status === "failed" && isObject(error)) {
    const { code, message, data } = error;
    const words = typeof message === "string" ? message : "The server's task failed";
    throw new RpcError(typeof code === "number" ? code : TRUNKLINE.badAnswer.code, words, data);
  }
  const why = typeof statusMessage === "string" ? `: ${statusMessage}` : "";
  const what = status === "cancelled" ? "was cancelled" : `is ${String(status)} without a result`;
  throw RpcError.of(TRUNKLINE.badAnswer, `the server's task ${what}${why}`);
}

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
  const { context } = link;
  const seen = new Set<string>();
  const pages: string[] = [];
  const listening = new AbortController();
  /** Rejects when waiting makes no sense any more. */
  const failed = Promise.withResolvers<never>();
  let current: JsonObject = created;
  let latest: JsonObject | undefined;
  let isDue = false;
  let wake: (() => void) | undefined;
  let misses = 0;
  let isLost = false;
  const told = (task?: JsonObject): void => {
    latest = task;
    isDue = true;
    wake?.();
  };
  /** Listens for changes, which is sooner than polling; not all servers send them, so we poll too. */
  const listen = (): void => {
    const notifications = { taskIds: [taskId] };
    const { signal } = listening;
    link.request("subscriptions/listen", { notifications }, { signal }).catch(() => {});
  };
  /** The task after the poll interval, or sooner where the server notifies. */
  const next = async (): Promise<JsonObject | undefined> => {
    if (!isDue) await pause();
    const news = latest;
    latest = undefined;
    isDue = false;
    return news ?? Promise.race([look(), failed.promise]);
  };
  const pause = async (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    using _ = setTimeout(resolve, pollInterval(current)).unref();
    wake = resolve;
    await Promise.race([promise, failed.promise]);
  };
  /** Polls once. Undefined after a temporary failure. */
  const look = async (): Promise<JsonObject | undefined> => {
    try {
      const task = await get();
      misses = 0;
      return task;
    } catch (error) {
      if (context.signal.aborted || !isTemporary(error)) throw error;
      if (++misses > MOST_MISSES) throw error;
      return undefined;
    }
  };
  const get = (): Promise<JsonObject> =>
    request("tasks/get", {}, { signal: context.signal, timeout: TIMEOUT });
  const request = (
    method: string,
    more: JsonObject,
    options: RequestOptions,
  ): Promise<JsonObject> => link.request(method, { taskId, ...more }, options);
  const became = (task: JsonObject): void => {
    const before = current;
    current = task;
    if (OVER.has(task.status)) return;
    tell(before);
    if (task.status === "input_required" && isObject(task.inputRequests)) {
      answer(task.inputRequests).catch(failed.reject);
    }
  };
  const tell = (before: JsonObject | undefined): void => {
    const { status, statusMessage, lastUpdatedAt } = current;
    const isNews =
      before === undefined
        ? typeof statusMessage === "string"
        : before.status !== status ||
          before.statusMessage !== statusMessage ||
          before.lastUpdatedAt !== lastUpdatedAt;
    if (!isNews) return;
    const message = typeof statusMessage === "string" ? statusMessage : undefined;
    link.advanced(message?.slice(0, LONGEST_MESSAGE));
  };
  /**
   * MCP 2026-07-28, tasks extension ("tasks/update"): a task lists its open questions with each poll.
   * Each question is asked once, however often the task shows it, and answered on its own.
   */
  const answer = async (inputRequests: JsonObject): Promise<void> => {
    const fresh = Object.entries(inputRequests).filter(([key]) => !seen.has(key));
    for (const [key] of fresh) seen.add(key);
    if (seen.size > MOST_QUESTIONS) {
      throw RpcError.of(
        TRUNKLINE.badAnswer,
        `the server's task asked over ${MOST_QUESTIONS} times`,
      );
    }
    const answers = fresh.map(async ([key, request]) => {
      const question = questionOf(key, request);
      const answer = await passQuestion(context, question, (id) => pages.push(id));
      if (!OVER.has(current.status)) await give({ [key]: answer });
    });
    await Promise.all(answers);
  };
  const give = async (inputResponses: JsonObject): Promise<void> => {
    const options = { signal: context.signal, timeout: TIMEOUT };
    try {
      await request("tasks/update", { inputResponses }, options);
      // The task may continue at once: poll now.
      told();
    } catch (error) {
      // The task may have ended without the answer.
      const task = await get();
      if (!OVER.has(task.status)) throw error;
      told(task);
    }
  };
  const lost = (): void => {
    isLost = true;
    failed.reject(new TrunklineError("closed", "The connection is closed"));
  };
  failed.promise.catch(() => {});
  const untilOver = async (): Promise<JsonObject> => {
    using ends = new DisposableStack();
    ends.defer(() => listening.abort(new Error("The task is over")));
    ends.defer(onAbort(context.signal, failed.reject));
    ends.defer(link.hear(taskId, { told, lost }));
    try {
      // The answer to the call has no result, even where the task is over already: fetch it.
      if (OVER.has(current.status)) return await get();
      tell(undefined);
      listen();
      while (!OVER.has(current.status)) became((await next()) ?? current);
      for (const id of pages) context.pageDone?.(id);
      return current;
    } catch (error) {
      // A task whose server cannot be reached may be wanted when it can be again.
      if (!isLost) request("tasks/cancel", {}, { timeout: TIMEOUT }).catch(() => {});
      throw error;
    }
  };
  return outcomeOf(await untilOver());
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

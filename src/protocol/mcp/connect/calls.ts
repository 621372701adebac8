import { CannotAsk, type Question, type ToolContext } from "../../../tool/tool.ts";
import { isObject, type JsonObject } from "../json-object.ts";
import type { TaskListener } from "./follow-task.ts";

/** What is known about the call that a message of the server belongs to. */
export interface Origin {
  /** The progress token of the call whose stream it came on. */
  readonly token?: unknown;
  /** The task that it speaks of. */
  readonly task?: unknown;
}

/**
 * The open calls to one server, to find the caller that a question of the server is meant for. In
 * revisions with sessions, a server on stdio does not say which call a question belongs to: then all
 * open calls must come from one client. A question is never put to a client that may not be meant.
 */
export class ClientCalls {
  /** By progress token. */
  readonly #open = new Map<number, ToolContext>();
  /** The last progress of calls that had any. */
  readonly #progress = new Map<number, number>();
  /** The calls that went on as tasks of 2025-11-25. */
  readonly #tasks = new Map<string, number>();
  readonly #taskListeners = new Map<string, TaskListener>();
  #lastToken = 0;

  get size(): number {
    return this.#open.size;
  }

  /** Registers a call for a context, and returns its progress token. */
  begin(context: ToolContext): number {
    const token = ++this.#lastToken;
    this.#open.set(token, context);
    return token;
  }

  has(token: unknown): boolean {
    return this.#open.has(token as number);
  }

  end(token: number): void {
    this.#open.delete(token);
    if (this.#progress.size > 0) this.#progress.delete(token);
  }

  /** Until the returned function is called, the task belongs to the call. */
  bindTask(taskId: string, token: number): () => void {
    this.#tasks.set(taskId, token);
    return () => this.#tasks.delete(taskId);
  }

  /** Until the returned function is called, what the server says of the task is told. */
  onTask(taskId: string, listener: TaskListener): () => void {
    this.#taskListeners.set(taskId, listener);
    return () => {
      if (this.#taskListeners.get(taskId) === listener) this.#taskListeners.delete(taskId);
    };
  }

  /** The server says how a task is. */
  taskChanged(task: JsonObject): void {
    const { taskId, statusMessage } = task;
    this.#taskListeners.get(taskId as string)?.told(task);
    const token = this.#tasks.get(taskId as string);
    if (token !== undefined && typeof statusMessage === "string")
      this.advanced(token, statusMessage);
  }

  /** The server will tell of tasks from now on. */
  listening({ notifications }: JsonObject): void {
    const taskIds = isObject(notifications) ? notifications.taskIds : undefined;
    if (!Array.isArray(taskIds)) return;
    for (const taskId of taskIds) this.#taskListeners.get(taskId as string)?.told();
  }

  /** The server is gone: tells those that follow tasks. Open requests fail by themselves. */
  lost(): void {
    for (const listener of [...this.#taskListeners.values()]) listener.lost();
  }

  progressed(params: JsonObject): void {
    const { progressToken, progress, total, message } = params;
    const context = this.#open.get(progressToken as number);
    if (context === undefined || typeof progress !== "number") return;
    this.#progress.set(progressToken as number, progress);
    context.progress(
      progress,
      typeof total === "number" ? total : undefined,
      typeof message === "string" ? message : undefined,
    );
  }

  /** Progress of a call for which the server gives no number. */
  advanced(token: number, message: string | undefined): void {
    const context = this.#open.get(token);
    if (context === undefined) return;
    const progress = (this.#progress.get(token) ?? 0) + 1;
    this.#progress.set(token, progress);
    context.progress(progress, undefined, message);
  }

  /** One context of each client with an open call: those that a message of the server may concern. */
  audience(): ToolContext[] {
    const byClient = new Map<unknown, ToolContext>();
    for (const context of this.#open.values()) byClient.set(clientOf(context), context);
    return [...byClient.values()];
  }

  /** The caller that a question is for. Throws when none can be asked, or several may be meant. */
  callerFor(question: Question, origin: Origin): ToolContext {
    const token = this.#tasks.get(origin.task as string) ?? origin.token;
    const known = this.#open.get(token as number);
    if (known !== undefined) return able(known, question);
    const everyone = this.audience();
    const [only, another] = everyone;
    if (only !== undefined && another === undefined) return able(only, question);
    // One that cannot be asked may be meant, too: the question is not put to another instead.
    const isAnswerable = everyone.some((context) => context.canAsk(question));
    throw isAnswerable ? new Ambiguous(question.method, everyone.length) : new CannotAsk(question);
  }
}

/** A question of a server cannot be passed on, because more than one client may be meant. */
export class Ambiguous extends Error {
  override readonly name = "Ambiguous";
  constructor(method: string, clients: number) {
    super(
      `Cannot pass on '${method}': ${clients} clients have calls in flight, ` +
        "and the server does not say which one it means",
    );
  }
}

function able(context: ToolContext, question: Question): ToolContext {
  if (!context.canAsk(question)) throw new CannotAsk(question);
  return context;
}

/** Requests without a session count as different clients, even under the same name. */
function clientOf(context: ToolContext): unknown {
  const { session, caller } = context;
  return session === undefined ? context : JSON.stringify([session, caller.client]);
}

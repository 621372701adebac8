import {
  CannotAsk,
  errorResult,
  type Question,
  type ToolContext,
  type ToolResult,
} from "../../../tool/tool.ts";
import { type TaskListener, followTask } from "./follow-task.ts";
import { background } from "../../../base/background.ts";
import { TRUNKLINE } from "../../../rpc/codes.ts";
import type { RequestOptions } from "../../../rpc/pending-requests.ts";
import type { Peer } from "../../../rpc/peer.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import type { JsonObject } from "../json-object.ts";
import { isObject, type Problem } from "../../../base/check.ts";
import { metaMember, metaOf, passedOn, TASKS_EXTENSIONS, META } from "../meta.ts";
import type { ClientPages } from "./pages.ts";
import { asCannotAsk, URL_ELICITATION_REQUIRED, visitPages } from "./questions.ts";
import { askInRounds } from "./rounds.ts";
import type { Codec, Implementation } from "../revision/codec.ts";
import { PLAINEST } from "../revision/revisions.ts";

/** Milliseconds for lists, completions and subscriptions. */
const QUICK = 30_000;

/** Sends our requests to a server, in the form of its revision. */
export class ClientRequests {
  readonly #peer: Peer;
  readonly #calls: ClientCalls;
  readonly #pages: ClientPages;
  readonly #info: Implementation;
  /** Our capabilities, whoever the caller is, and for calls of tools. */
  readonly #ours: JsonObject;
  readonly #oursInCalls: JsonObject;
  /** Known after the handshake. */
  codec: Codec = PLAINEST;

  constructor(
    peer: Peer,
    calls: ClientCalls,
    pages: ClientPages,
    info: Implementation,
    own: JsonObject,
  ) {
    this.#ours = { extensions: own };
    this.#oursInCalls = { extensions: { ...own, ...TASKS_EXTENSIONS } };
    this.#peer = peer;
    this.#calls = calls;
    this.#pages = pages;
    this.#info = info;
    background(
      peer.ended.then(() => calls.lost()),
      "Noting that a server is gone",
    );
  }

  /** A request that we send for no caller. */
  request(name: string, params: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    const _meta = this.codec.requestMeta(this.#info, undefined, this.#ours);
    return this.#peer.request(
      { name, checkResult },
      _meta === undefined ? params : { ...params, _meta: { ...metaOf(params), ..._meta } },
      signal === undefined ? { timeout: QUICK } : { signal },
    );
  }

  /** A request for a caller, who may be asked meanwhile. */
  async call<R>(
    name: string,
    params: JsonObject,
    context: ToolContext,
    plain: (result: JsonObject) => R,
  ): Promise<R> {
    const token = this.#calls.begin(context);
    try {
      let result: JsonObject;
      try {
        result = await this.#ask(name, params, context, token);
      } catch (error) {
        await this.#visitPages(error, context);
        result = await this.#ask(name, params, context, token);
      }
      const isTask = this.codec.isTask(params, result);
      return plain(isTask ? await this.#finish(name, result, context, token) : result);
    } finally {
      this.#calls.end(token);
    }
  }

  /** Waits for a task that the server made of an earlier call. */
  resume(taskId: string, context: ToolContext): Promise<JsonObject> {
    const token = this.#calls.begin(context);
    const isTheirs = this.codec.has.tasks === "server's choice";
    // It may be over already, so it is polled at once.
    const task = { taskId, status: "working", pollIntervalMs: 0 };
    return this.#finish("tools/call", isTheirs ? task : { task }, context, token);
  }

  /** Asks the caller to visit the pages that the server requires. Throws any other error. */
  async #visitPages(error: unknown, context: ToolContext): Promise<void> {
    if (!(error instanceof RpcError)) throw error;
    const isPage = error.code === URL_ELICITATION_REQUIRED;
    if (isPage && (await visitPages(error, context))) return;
    if (isPage) this.#pages.required(error, context);
    throw asCannotAsk(error) ?? error;
  }

  #ask(
    name: string,
    params: JsonObject,
    context: ToolContext,
    progressToken: number,
  ): Promise<JsonObject> {
    const { signal } = context;
    const ours = name === "tools/call" ? this.#oursInCalls : this.#ours;
    const ofRevision = this.codec.requestMeta(this.#info, context, ours);
    const _meta = { ...passedOn(context), progressToken, ...ofRevision };
    const ask = (more: JsonObject): Promise<JsonObject> =>
      this.#peer.request<JsonObject, JsonObject>(
        { name, checkResult },
        { ...more, _meta },
        { signal },
      );
    return this.codec.has.inputRequired ? askInRounds(ask, params, context) : ask(params);
  }

  /** Waits for the result of a call that was answered with a task. */
  async #finish(
    name: string,
    begun: JsonObject,
    context: ToolContext,
    token: number,
  ): Promise<JsonObject> {
    try {
      if (this.codec.has.tasks !== "server's choice") {
        return await this.#awaitTask(begun, context, token);
      }
      if (name !== "tools/call") {
        throw RpcError.of(TRUNKLINE.badAnswer, `the server answered '${name}' with a task`);
      }
      if (typeof begun.taskId === "string") context.remoteTask?.(begun.taskId);
      return await followTask(begun, {
        context,
        request: (method, params, options) => this.#ofTask(method, params, context, options),
        advanced: (message) => this.#calls.advanced(token, message),
        hear: (taskId, listener) => this.#calls.onTask(taskId, listener),
      });
    } catch (error) {
      if (error instanceof RpcError) throw asCannotAsk(error) ?? error;
      throw error;
    } finally {
      this.#calls.end(token);
    }
  }

  /** MCP 2025-11-25, basic/utilities/tasks § Result Retrieval: `tasks/result` waits for the end. */
  async #awaitTask(begun: JsonObject, context: ToolContext, token: number): Promise<JsonObject> {
    const task = isObject(begun.task) ? begun.task : undefined;
    // Some servers answer with the result although a task was asked for.
    if (typeof task?.taskId !== "string") return begun;
    const { taskId } = task;
    context.remoteTask?.(taskId);
    using bound = new DisposableStack();
    bound.defer(this.#calls.bindTask(taskId, token));
    try {
      return await this.call("tasks/result", { taskId }, context, (result) => result);
    } catch (error) {
      if (context.signal.aborted) this.request("tasks/cancel", { taskId }).catch(() => {});
      throw error;
    }
  }

  #ofTask(
    name: string,
    params: JsonObject,
    context: ToolContext,
    options: RequestOptions,
  ): Promise<JsonObject> {
    const _meta = this.codec.requestMeta(this.#info, context, this.#oursInCalls);
    return this.#peer.request({ name, checkResult }, { ...params, _meta }, options);
  }
}

/** Of every method: its result must be an object. */
function checkResult(value: unknown): Problem | undefined {
  return isObject(value) ? undefined : { path: [], says: "must be an object" };
}

/** The same for a tool's result, whose content is a list of objects. */
export function plainToolResult(result: JsonObject): ToolResult {
  const plain = plainResult(result);
  const { content } = plain;
  if (content === undefined) return { content: [], ...plain };
  const isContent = Array.isArray(content) && content.every(isObject);
  if (isContent) return plain as unknown as ToolResult;
  return errorResult("The server's answer is malformed: its `content` is not a list of objects");
}

/** A result without the envelope of its revision: one shape for all revisions. */
export function plainResult(result: JsonObject): JsonObject {
  const isPlain = !("_meta" in result || "resultType" in result);
  if (isPlain && !("ttlMs" in result || "cacheScope" in result)) return result;
  const { resultType: _, ttlMs: __, cacheScope: ___, _meta, ...body } = result;
  if (typeof _meta !== "object" || _meta === null) return body;
  const { [META.serverInfo]: ____, [META.relatedTask]: _____, ...meta } = _meta as JsonObject;
  return Object.keys(meta).length === 0 ? body : { ...body, _meta: meta };
}

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

  /** Binds a task to a call until the returned function is called. */
  bindTask(taskId: string, token: number): () => void {
    this.#tasks.set(taskId, token);
    return () => this.#tasks.delete(taskId);
  }

  /** The listener gets the server's notifications about the task until the returned function is called. */
  onTask(taskId: string, listener: TaskListener): () => void {
    this.#taskListeners.set(taskId, listener);
    return () => {
      if (this.#taskListeners.get(taskId) === listener) this.#taskListeners.delete(taskId);
    };
  }

  /** The server reports the state of a task. */
  taskChanged(task: JsonObject): void {
    const { taskId, statusMessage } = task;
    this.#taskListeners.get(taskId as string)?.told(task);
    const token = this.#tasks.get(taskId as string);
    if (token !== undefined && typeof statusMessage === "string")
      this.advanced(token, statusMessage);
  }

  /** The server has accepted a subscription to tasks: their states are read once. */
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
      metaMember(params),
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
    // A caller that cannot be asked may be the right one, so the question is not put to another instead.
    const isAnswerable = everyone.some((context) => context.canAsk(question));
    throw isAnswerable
      ? new AmbiguousClientError(question.method, everyone.length)
      : new CannotAsk(question);
  }
}

/** A question of a server cannot be passed on, because more than one client may be meant. */
export class AmbiguousClientError extends Error {
  override readonly name = "AmbiguousClientError";
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

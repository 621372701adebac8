import { STANDARD } from "../../rpc/codes.ts";
import type { RequestOptions } from "../../rpc/outgoing.ts";
import type { Peer } from "../../rpc/peer.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import type { ToolContext } from "../../tool/tool.ts";
import { isObject, type JsonObject } from "./client.ts";
import type { ClientCalls } from "./client-calls.ts";
import { modernEnvelope, passedOn, WITH_TASKS } from "./client-envelope.ts";
import { followTask } from "./client-follow-task.ts";
import { anObject } from "./client-methods.ts";
import type { ClientPages } from "./client-pages.ts";
import { asCannotAsk, URL_ELICITATION_REQUIRED, visitPages } from "./client-questions.ts";
import { askInRounds } from "./client-rounds.ts";
import type { ServerInfo } from "./result.ts";

/** For what a server has at hand: lists, completions, subscriptions. */
const QUICK = 30_000;

/** What we ask of a server, in the words of its era. */
export class ClientRequests {
  readonly #peer: Peer;
  readonly #calls: ClientCalls;
  readonly #pages: ClientPages;
  readonly #info: ServerInfo;
  /** Known after the handshake. */
  isModern = false;

  constructor(peer: Peer, calls: ClientCalls, pages: ClientPages, info: ServerInfo) {
    this.#peer = peer;
    this.#calls = calls;
    this.#pages = pages;
    this.#info = info;
    void peer.ended.then(() => calls.lost());
  }

  /** What is asked in nobody's name. */
  request(name: string, params: JsonObject, signal?: AbortSignal): Promise<JsonObject> {
    const full = this.isModern
      ? { ...params, _meta: modernEnvelope(this.#info, undefined) }
      : params;
    return this.#peer.request(
      anObject(name),
      full,
      signal === undefined ? { timeout: QUICK } : { signal },
    );
  }

  /** What is done for a caller, who may be asked something meanwhile. */
  call<R>(
    name: string,
    params: JsonObject,
    context: ToolContext,
    plain: (result: JsonObject) => R,
  ): Promise<R> {
    const token = this.#calls.begin(context);
    return this.#ask(name, params, context, token).then(
      (result) => {
        if (this.#isTask(params, result)) {
          return this.#finish(name, result, context, token).then(plain);
        }
        this.#calls.end(token);
        return plain(result);
      },
      async (error: unknown) => {
        try {
          if (!(error instanceof RpcError)) throw error;
          const isPage = error.code === URL_ELICITATION_REQUIRED;
          if (isPage && (await visitPages(error, context))) {
            const result = await this.#ask(name, params, context, token);
            const isTask = this.#isTask(params, result);
            return plain(isTask ? await this.#finish(name, result, context, token) : result);
          }
          if (isPage) this.#pages.required(error, context);
          throw asCannotAsk(error) ?? error;
        } finally {
          this.#calls.end(token);
        }
      },
    );
  }

  #ask(
    name: string,
    params: JsonObject,
    context: ToolContext,
    progressToken: number,
  ): Promise<JsonObject> {
    const stop = { stop: context.stop };
    const own = { ...passedOn(context.meta), progressToken };
    if (!this.isModern) {
      return this.#peer.request(anObject(name), { ...params, _meta: own }, stop);
    }
    const extensions = name === "tools/call" ? WITH_TASKS : undefined;
    const _meta = { ...own, ...modernEnvelope(this.#info, context, extensions) };
    const ask = (more: JsonObject): Promise<JsonObject> =>
      this.#peer.request(anObject(name), { ...more, _meta }, stop);
    return askInRounds(ask, params, context);
  }

  /** Only who asked for a task was answered with one, up to 2025-11-25. */
  #isTask(params: JsonObject, result: JsonObject): boolean {
    return this.isModern ? result.resultType === "task" : params.task !== undefined;
  }

  /** Waits for what a call that was answered with a task comes to. */
  async #finish(
    name: string,
    begun: JsonObject,
    context: ToolContext,
    token: number,
  ): Promise<JsonObject> {
    try {
      if (!this.isModern) return await this.#legacyTask(begun, context, token);
      if (name !== "tools/call") {
        throw RpcError.of(STANDARD.internal, `the server answered '${name}' with a task`);
      }
      return await followTask(begun, {
        context,
        request: (method, params, options) => this.#ofTask(method, params, context, options),
        gotOn: (message) => this.#calls.gotOn(token, message),
        hear: (taskId, listener) => this.#calls.hearOfTask(taskId, listener),
      });
    } catch (error) {
      if (error instanceof RpcError) throw asCannotAsk(error) ?? error;
      throw error;
    } finally {
      this.#calls.end(token);
    }
  }

  /** 2025-11-25: one request waits for the end, and the call's progress goes on meanwhile. */
  async #legacyTask(begun: JsonObject, context: ToolContext, token: number): Promise<JsonObject> {
    const task = isObject(begun.task) ? begun.task : undefined;
    // One that was done at once may have been answered so.
    if (typeof task?.taskId !== "string") return begun;
    const { taskId } = task;
    const release = this.#calls.bindTask(taskId, token);
    try {
      return await this.call("tasks/result", { taskId }, context, (result) => result);
    } catch (error) {
      if (context.signal.aborted) this.request("tasks/cancel", { taskId }).catch(() => {});
      throw error;
    } finally {
      release();
    }
  }

  #ofTask(
    name: string,
    params: JsonObject,
    context: ToolContext,
    options: RequestOptions,
  ): Promise<JsonObject> {
    const _meta = modernEnvelope(this.#info, context, WITH_TASKS);
    return this.#peer.request(anObject(name), { ...params, _meta }, options);
  }
}

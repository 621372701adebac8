import { RateLimiter } from "../../../base/limit/rate-limiter.ts";
import type { Call } from "../../../rpc/peer.ts";
import { notification, request } from "../../../rpc/method.ts";
import { type Route, route, type RouteLimits, type Routes, routes } from "../../../rpc/route.ts";
import type { MessageDetails, Question, ToolContext } from "../../../tool/tool.ts";
import type { JsonObject } from "../json-object.ts";
import { isObject } from "../../../base/check.ts";
import { Ambiguous, type ClientCalls, type Origin } from "./requests.ts";
import type { ClientPages } from "./pages.ts";
import { passQuestion, QUESTION_LIMITS, refusalOf, withinLimit } from "./questions.ts";
import { levelOf } from "../log-levels.ts";
import { META, metaMember, metaOf } from "../meta.ts";
import type { LogLevel } from "../../../base/log.ts";
import { STANDARD, TRUNKLINE } from "../../../rpc/codes.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";

export interface ClientRoutesOptions {
  readonly calls: ClientCalls;
  readonly pages: ClientPages;
  readonly events: McpClientEvents;
  /** The name of the server here; its log messages carry it. */
  readonly name: string | undefined;
  /** The progress token of the call whose stream a request came on, where the transport knows. */
  readonly originOf: (idText: string) => unknown;
  /** Milliseconds for the answer to a question, by its method; `QUESTION_LIMITS` when left out. */
  readonly questionLimits?: Readonly<Record<string, number>> | undefined;
}

const KiB = 1024;
/** Limits on messages of a server, since they are passed on to clients. */
const MOST_MESSAGES = { limit: 100, windowMs: 1_000 };
const LONGEST_MESSAGE = 64 * KiB;
/** The same for the progress of each call. */
const MOST_PROGRESS = { limit: 100, windowMs: 1_000 };
const LONGEST_PROGRESS = 16 * KiB;

/** The requests and notifications of servers. */
export function clientRoutes(options: ClientRoutesOptions): Routes<undefined> {
  const { calls, pages, events } = options;
  const tasks = new ClientTasks();
  const hears = (
    name: string,
    hear: (params: JsonObject) => void,
    limits?: RouteLimits,
  ): Route<undefined> => route(notification(name), hear, limits);
  const answers = (
    name: string,
    answer: (params: JsonObject) => JsonObject | Promise<JsonObject>,
  ): Route<undefined> => route(request<JsonObject, JsonObject>(name), answer);
  const asks = (name: string): Route<undefined> =>
    route(request<JsonObject, JsonObject>(name), (params: JsonObject, call) => {
      const answer = ask(options, { method: name, params }, call);
      return isObject(params.task) ? tasks.begin(answer, params.task.ttl) : answer;
    });
  return routes(
    // MCP 2025-11-25, basic/utilities/ping § Behavior Requirements: an empty result.
    answers("ping", () => ({})),
    asks("elicitation/create"),
    asks("sampling/createMessage"),
    asks("roots/list"),
    answers("tasks/get", (params) => tasks.get(params)),
    answers("tasks/list", () => tasks.list()),
    answers("tasks/result", (params) => tasks.result(params)),
    answers("tasks/cancel", (params) => tasks.cancel(params)),
    hears("notifications/progress", (params) => calls.progressed(params), {
      maxSize: LONGEST_PROGRESS,
      rate: new RateLimiter(MOST_PROGRESS),
      key: (params) => callOf(calls, params),
    }),
    hears(
      "notifications/message",
      ({ level, data, logger, _meta }) => {
        const audience = calls.audience();
        const known = levelOf(level);
        const whose = loggerOf(options.name, logger);
        const more = { level, ...metaMember({ _meta }) };
        for (const context of audience) context.log(known, data, whose, more);
        if (audience.length === 0) events.logged(known, data, whose, more);
      },
      { maxSize: LONGEST_MESSAGE, rate: new RateLimiter(MOST_MESSAGES) },
    ),
    hears("notifications/elicitation/complete", ({ elicitationId }) => pages.done(elicitationId)),
    hears("notifications/tasks/status", (task) => calls.taskChanged(task), {
      rate: new RateLimiter(MOST_PROGRESS),
    }),
    hears("notifications/tasks", (task) => calls.taskChanged(task), {
      rate: new RateLimiter(MOST_PROGRESS),
    }),
    hears("notifications/subscriptions/acknowledged", (params) => calls.listening(params)),
    hears("notifications/tools/list_changed", () => events.toolsChanged()),
    hears("notifications/prompts/list_changed", () => events.promptsChanged()),
    hears("notifications/resources/list_changed", () => events.resourcesChanged()),
    hears("notifications/resources/updated", ({ uri }) => {
      if (typeof uri === "string") events.resourceUpdated(uri);
    }),
  );
}

function loggerOf(server: string | undefined, logger: unknown): string | undefined {
  if (typeof logger !== "string") return server;
  return server === undefined ? logger : `${server}/${logger}`;
}

/** The key of the rate limit for progress: the call. Unknown tokens share one. */
function callOf(calls: ClientCalls, params: unknown): string | undefined {
  const { progressToken } = params as JsonObject;
  return calls.has(progressToken) ? String(progressToken) : undefined;
}

async function ask(
  { calls, pages, events, originOf, questionLimits = QUESTION_LIMITS }: ClientRoutesOptions,
  question: Question,
  call: Call<undefined>,
): Promise<JsonObject> {
  const related = metaOf(question.params)[META.relatedTask];
  const origin: Origin = {
    token: originOf(String(call.id)),
    ...(isObject(related) ? { task: related.taskId } : {}),
  };
  let over = (): void => {};
  try {
    const owner = calls.size === 0 ? events.owner() : undefined;
    const context = owner ?? calls.callerFor(question, origin);
    if (origin.token === undefined) over = events.asked(context);
    const asked = passQuestion(context, question, (id) => pages.shown(id, context));
    const answer = await withinLimit(asked, question, questionLimits, call.signal);
    return isObject(answer) ? answer : {};
  } catch (error) {
    if (error instanceof Ambiguous) events.ambiguous();
    throw refusalOf(error);
  } finally {
    over();
  }
}

/** What a server sends by itself, for all of its callers. */
export interface McpClientEvents {
  toolsChanged(): void;
  promptsChanged(): void;
  resourcesChanged(): void;
  resourceUpdated(uri: string): void;
  /** A message for people that belongs to no call. */
  logged(level: LogLevel, data: unknown, logger: string | undefined, more?: MessageDetails): void;
  /**
   * A question goes to this caller, though the server does not say which call it belongs to. Returns
   * what is called when that is over.
   */
  asked(context: ToolContext): () => void;
  /** A question is refused, because several clients may be meant. */
  ambiguous(): void;
  /** Who is asked while there is no call; nobody when undefined. */
  owner(): ToolContext | undefined;
}

export const NO_EVENTS: McpClientEvents = {
  toolsChanged() {},
  promptsChanged() {},
  resourcesChanged() {},
  resourceUpdated() {},
  logged() {},
  asked: () => () => {},
  ambiguous() {},
  owner: () => undefined,
};

const TTL = 10 * 60_000;
const LONGEST_TTL = 60 * 60_000;
const POLL_INTERVAL = 250;
const MOST = 1_000;

interface QuestionTask {
  readonly id: string;
  readonly createdAt: string;
  readonly ttl: number;
  readonly done: Promise<JsonObject>;
  status: "working" | "completed" | "failed" | "cancelled";
  lastUpdatedAt: string;
}

/**
 * Questions that a server of 2025-11-25 asks as tasks (MCP 2025-11-25, basic/utilities/tasks § Client
 * Capabilities): it gets a task at once, and fetches the answer later.
 */
export class ClientTasks {
  readonly #tasks = new Map<string, QuestionTask>();

  /** Begins one, and describes it. */
  begin(answer: Promise<JsonObject>, ttl: unknown): JsonObject {
    if (this.#tasks.size >= MOST) throw RpcError.of(TRUNKLINE.busy, "too many tasks");
    const now = new Date().toISOString();
    const kept = typeof ttl === "number" && ttl > 0 ? Math.min(ttl, LONGEST_TTL) : TTL;
    const task: QuestionTask = {
      id: crypto.randomUUID(),
      createdAt: now,
      ttl: kept,
      done: answer,
      status: "working",
      lastUpdatedAt: now,
    };
    this.#tasks.set(task.id, task);
    setTimeout(() => this.#tasks.delete(task.id), kept).unref();
    answer.then(
      () => become(task, "completed"),
      () => become(task, "failed"),
    );
    return { task: describe(task) };
  }

  get(params: JsonObject): JsonObject {
    return describe(this.#find(params));
  }

  list(): JsonObject {
    return { tasks: Array.from(this.#tasks.values(), describe) };
  }

  /** Waits for the answer. */
  async result(params: JsonObject): Promise<JsonObject> {
    const task = this.#find(params);
    try {
      const result = await task.done;
      const meta = isObject(result._meta) ? result._meta : {};
      return { ...result, _meta: { ...meta, [META.relatedTask]: { taskId: task.id } } };
    } catch (error) {
      throw refusalOf(error);
    }
  }

  cancel(params: JsonObject): JsonObject {
    const task = this.#find(params);
    if (task.status !== "working") {
      throw RpcError.of(STANDARD.invalidParams, `task '${task.id}' is ${task.status}`);
    }
    become(task, "cancelled");
    return describe(task);
  }

  #find({ taskId }: JsonObject): QuestionTask {
    const task = this.#tasks.get(taskId as string);
    if (task !== undefined) return task;
    throw RpcError.of(STANDARD.invalidParams, `no task has the id '${String(taskId)}'`);
  }
}

function become(task: QuestionTask, status: QuestionTask["status"]): void {
  if (task.status !== "working") return;
  task.status = status;
  task.lastUpdatedAt = new Date().toISOString();
}

function describe({ id, status, createdAt, lastUpdatedAt, ttl }: QuestionTask): JsonObject {
  return { taskId: id, status, createdAt, lastUpdatedAt, ttl, pollInterval: POLL_INTERVAL };
}

import { RateLimiter } from "../../../base/limit/rate-limiter.ts";
import type { Call } from "../../../rpc/peer.ts";
import { notification, request } from "../../../rpc/method.ts";
import { type Route, route, type RouteLimits, type Routes, routes } from "../../../rpc/route.ts";
import type { MessageDetails, Question, ToolContext } from "../../../tool/tool.ts";
import type { JsonObject } from "../json-object.ts";
import { isObject } from "../../../base/check.ts";
import { AmbiguousClientError, type ClientCalls, type Origin } from "./requests.ts";
import type { ClientPages } from "./pages.ts";
import { passQuestion, refusalOf, withinLimit } from "./questions.ts";
import { levelOf } from "../log-levels.ts";
import { META, metaMember, metaOf } from "../meta.ts";
import type { LogLevel } from "../../../base/log.ts";
import { CORE_TASKS } from "../revision/task-shapes.ts";
import { Rounds } from "../serve/rounds.ts";
import { resultOf } from "../serve/task/task.ts";
import { Tasks } from "../serve/task/tasks.ts";

export interface ClientRoutesOptions {
  readonly calls: ClientCalls;
  readonly pages: ClientPages;
  readonly events: McpClientEvents;
  /** The name of the server here; its log messages carry it. */
  readonly name: string | undefined;
  /** The progress token of the call whose stream a request came on, where the transport knows. */
  readonly originOf: (idText: string) => unknown;
  /** Milliseconds for the answer to a question, by its method. */
  readonly questionLimits: Readonly<Record<string, number>>;
}

const { shapeNewTask, shapeTask, cancelTask } = CORE_TASKS;

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
  // MCP 2025-11-25, basic/utilities/tasks § Client Capabilities: a server that asks by a task gets it at
  // once, and fetches the answer later.
  const tasks = new Tasks();
  const taskOf = ({ taskId }: JsonObject) => tasks.find(String(taskId), SERVER);
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
      if (!isObject(params.task)) return answer;
      const begin = (): Rounds<JsonObject> => new Rounds(() => answer);
      const { ttl } = params.task;
      return tasks.start({ owner: SERVER, begin, stop: () => {}, ttl }).then(shapeNewTask);
    });
  return routes(
    // MCP 2025-11-25, basic/utilities/ping § Behavior Requirements: an empty result.
    answers("ping", () => ({})),
    asks("elicitation/create"),
    asks("sampling/createMessage"),
    asks("roots/list"),
    answers("tasks/get", (params) => taskOf(params).then(shapeTask)),
    answers("tasks/list", () => ({ tasks: tasks.of(SERVER).map(shapeTask) })),
    answers("tasks/result", (params) => taskOf(params).then(resultOf)),
    answers("tasks/cancel", (params) => taskOf(params).then(cancelTask)),
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
  { calls, pages, events, originOf, questionLimits }: ClientRoutesOptions,
  question: Question,
  call: Call<undefined>,
): Promise<JsonObject> {
  const related = metaOf(question.params)[META.relatedTask];
  const origin: Origin = {
    token: originOf(String(call.id)),
    ...(isObject(related) ? { task: related.taskId } : {}),
  };
  using asking = new DisposableStack();
  try {
    const owner = calls.size === 0 ? events.owner() : undefined;
    const context = owner ?? calls.callerFor(question, origin);
    if (origin.token === undefined) asking.defer(events.asked(context));
    const asked = passQuestion(context, question, (id) => pages.shown(id, context));
    const answer = await withinLimit(asked, question, questionLimits, call.signal);
    return isObject(answer) ? answer : {};
  } catch (error) {
    if (error instanceof AmbiguousClientError) events.ambiguous();
    throw refusalOf(error);
  }
}

/** The notifications of a server that concern all of its callers. */
export interface McpClientEvents {
  toolsChanged(): void;
  promptsChanged(): void;
  resourcesChanged(): void;
  resourceUpdated(uri: string): void;
  /** A message for people that belongs to no call. */
  logged(level: LogLevel, data: unknown, logger: string | undefined, more?: MessageDetails): void;
  /**
   * A question is put to this caller, although the server does not say which call it belongs to. Returns a
   * function that is called when it is answered.
   */
  asked(context: ToolContext): () => void;
  /** A question is refused, because several clients may be meant. */
  ambiguous(): void;
  /** The context that is asked while there is no call; nobody if undefined. */
  owner(): ToolContext | undefined;
}

/** The owner of the questions that are tasks: a connection has one server. */
const SERVER = "";

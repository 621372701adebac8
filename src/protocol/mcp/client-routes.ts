import type { LogLevel } from "../../base/log.ts";
import type { Call } from "../../rpc/call.ts";
import { method } from "../../rpc/method.ts";
import { type Route, route, type Routes, routes } from "../../rpc/route.ts";
import type { Question } from "../../tool/tool.ts";
import { isObject, type JsonObject, metaOf } from "./client.ts";
import type { ClientCalls, Origin } from "./client-calls.ts";
import type { McpClientEvents } from "./client-events.ts";
import { putQuestion, refusalOf } from "./client-questions.ts";
import { ClientTasks } from "./client-tasks.ts";
import { META } from "./names.ts";

export interface ClientRoutesOptions {
  readonly calls: ClientCalls;
  readonly events: McpClientEvents;
  /** The progress token of the call whose stream a request came on, where the transport knows. */
  readonly originOf: (idText: string) => unknown;
}

const LEVELS: Readonly<Record<string, LogLevel>> = {
  debug: "debug",
  info: "info",
  notice: "info",
  warning: "warn",
};

/** What servers ask of us and tell us. */
export function clientRoutes(options: ClientRoutesOptions): Routes<undefined> {
  const { calls, events } = options;
  const tasks = new ClientTasks();
  const hears = (name: string, hear: (params: JsonObject) => void): Route<undefined> =>
    route(method<JsonObject>(name), hear);
  const answers = (
    name: string,
    answer: (params: JsonObject) => JsonObject | Promise<JsonObject>,
  ): Route<undefined> => route(method<JsonObject, JsonObject>(name), answer);
  const asks = (name: string): Route<undefined> =>
    route(method<JsonObject, JsonObject>(name), (params: JsonObject, call) => {
      const answer = ask(options, { method: name, params }, call);
      return isObject(params.task) ? tasks.begin(answer, params.task.ttl) : answer;
    });
  return routes(
    answers("ping", () => ({})),
    asks("elicitation/create"),
    asks("sampling/createMessage"),
    asks("roots/list"),
    answers("tasks/get", (params) => tasks.get(params)),
    answers("tasks/list", () => tasks.list()),
    answers("tasks/result", (params) => tasks.result(params)),
    answers("tasks/cancel", (params) => tasks.cancel(params)),
    hears("notifications/progress", (params) => calls.progressed(params)),
    hears("notifications/message", ({ level, data, logger }) => {
      const audience = calls.audience();
      const known = LEVELS[String(level)] ?? "error";
      const name = typeof logger === "string" ? logger : undefined;
      for (const context of audience) context.log(known, data, name);
      if (audience.length === 0) events.logged(level, data, logger);
    }),
    hears("notifications/tools/list_changed", () => events.toolsChanged()),
    hears("notifications/prompts/list_changed", () => events.promptsChanged()),
    hears("notifications/resources/list_changed", () => events.resourcesChanged()),
    hears("notifications/resources/updated", ({ uri }) => {
      if (typeof uri === "string") events.resourceUpdated(uri);
    }),
  );
}

async function ask(
  { calls, originOf }: ClientRoutesOptions,
  question: Question,
  call: Call<undefined>,
): Promise<JsonObject> {
  const related = metaOf(question.params)[META.relatedTask];
  const origin: Origin = {
    token: originOf(call.idText),
    ...(isObject(related) ? { task: related.taskId } : {}),
  };
  try {
    const answer = await putQuestion(calls.askedOf(question, origin), question);
    return isObject(answer) ? answer : {};
  } catch (error) {
    throw refusalOf(error);
  }
}

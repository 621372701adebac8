import type { Check } from "../../base/check.ts";
import { notification, request } from "../../rpc/method.ts";
import type { JsonObject } from "./json-object.ts";
import * as schema from "./schema.gen.ts";

const asks = <P = JsonObject>(name: string, check?: Check<P>) =>
  request<P, JsonObject>(name, check);

/** The requests that clients send. */
export const METHODS = {
  initialize: asks("initialize", schema.checkInitializeParams),
  discover: asks("server/discover"),
  ping: asks("ping"),
  setLevel: asks("logging/setLevel", schema.checkSetLevelParams),
  listTools: asks("tools/list", schema.checkListParams),
  callTool: asks("tools/call", schema.checkCallToolParams),
  listResources: asks("resources/list", schema.checkListParams),
  listTemplates: asks("resources/templates/list", schema.checkListParams),
  readResource: asks("resources/read", schema.checkReadResourceParams),
  subscribe: asks("resources/subscribe", schema.checkWatchParams),
  unsubscribe: asks("resources/unsubscribe", schema.checkWatchParams),
  listPrompts: asks("prompts/list", schema.checkListParams),
  getPrompt: asks("prompts/get", schema.checkGetPromptParams),
  complete: asks("completion/complete", schema.checkCompleteParams),
  listSkills: asks("skills/list", schema.checkListParams),
  getSkill: asks("skills/get", schema.checkReadResourceParams),
  readDirectory: asks("resources/directory/read", schema.checkReadResourceParams),
  listen: asks("subscriptions/listen", schema.checkListenParams),
  getTask: asks("tasks/get", schema.checkTaskParams),
  taskResult: asks("tasks/result", schema.checkTaskParams),
  listTasks: asks("tasks/list", schema.checkListParams),
  cancelTask: asks("tasks/cancel", schema.checkTaskParams),
  updateTask: asks("tasks/update", schema.checkUpdateTaskParams),
} as const;

/** The notifications that servers send. */
export const EVENTS = {
  toolsChanged: notification("notifications/tools/list_changed"),
  promptsChanged: notification("notifications/prompts/list_changed"),
  resourcesChanged: notification("notifications/resources/list_changed"),
  resourceUpdated: notification("notifications/resources/updated"),
  acknowledged: notification("notifications/subscriptions/acknowledged"),
  taskStatus: notification("notifications/tasks/status"),
  task: notification("notifications/tasks"),
  progress: notification("notifications/progress"),
  message: notification("notifications/message"),
  pageDone: notification("notifications/elicitation/complete"),
} as const;

/** The lists whose changes clients hear of: in a filter, in the offer, and as they are told. */
export const LISTS = [
  ["toolsListChanged", "tools", EVENTS.toolsChanged],
  ["promptsListChanged", "prompts", EVENTS.promptsChanged],
  ["resourcesListChanged", "resources", EVENTS.resourcesChanged],
] as const;

import { method } from "../../rpc/method.ts";
import type { JsonObject } from "./json-object.ts";
import {
  type CallToolParams,
  checkCallToolParams,
  checkCompleteParams,
  checkGetPromptParams,
  checkInitializeParams,
  checkListenParams,
  checkListParams,
  checkReadResourceParams,
  checkSetLevelParams,
  checkTaskParams,
  checkUpdateTaskParams,
  checkWatchParams,
  type CompleteParams,
  type GetPromptParams,
  type InitializeParams,
  type ListenParams,
  type ListParams,
  type ReadResourceParams,
  type SetLevelParams,
  type TaskParams,
  type UpdateTaskParams,
  type WatchParams,
} from "./schema.gen.ts";

const asks = <P>(name: string, check?: Parameters<typeof method>[1]) =>
  method<P, JsonObject>(name, check);

/** The requests that clients send. */
export const METHODS = {
  initialize: asks<InitializeParams>("initialize", { check: checkInitializeParams }),
  discover: asks<JsonObject>("server/discover"),
  ping: asks<JsonObject>("ping"),
  setLevel: asks<SetLevelParams>("logging/setLevel", { check: checkSetLevelParams }),
  listTools: asks<ListParams>("tools/list", { check: checkListParams }),
  callTool: asks<CallToolParams>("tools/call", { check: checkCallToolParams }),
  listResources: asks<ListParams>("resources/list", { check: checkListParams }),
  listTemplates: asks<ListParams>("resources/templates/list", { check: checkListParams }),
  readResource: asks<ReadResourceParams>("resources/read", { check: checkReadResourceParams }),
  subscribe: asks<WatchParams>("resources/subscribe", { check: checkWatchParams }),
  unsubscribe: asks<WatchParams>("resources/unsubscribe", { check: checkWatchParams }),
  listPrompts: asks<ListParams>("prompts/list", { check: checkListParams }),
  getPrompt: asks<GetPromptParams>("prompts/get", { check: checkGetPromptParams }),
  complete: asks<CompleteParams>("completion/complete", { check: checkCompleteParams }),
  listen: asks<ListenParams>("subscriptions/listen", { check: checkListenParams }),
  getTask: asks<TaskParams>("tasks/get", { check: checkTaskParams }),
  taskResult: asks<TaskParams>("tasks/result", { check: checkTaskParams }),
  listTasks: asks<ListParams>("tasks/list", { check: checkListParams }),
  cancelTask: asks<TaskParams>("tasks/cancel", { check: checkTaskParams }),
  updateTask: asks<UpdateTaskParams>("tasks/update", { check: checkUpdateTaskParams }),
} as const;

/** The notifications that servers send. */
export const EVENTS = {
  toolsChanged: method<JsonObject>("notifications/tools/list_changed"),
  promptsChanged: method<JsonObject>("notifications/prompts/list_changed"),
  resourcesChanged: method<JsonObject>("notifications/resources/list_changed"),
  resourceUpdated: method<JsonObject>("notifications/resources/updated"),
  acknowledged: method<JsonObject>("notifications/subscriptions/acknowledged"),
  taskStatus: method<JsonObject>("notifications/tasks/status"),
  task: method<JsonObject>("notifications/tasks"),
  progress: method<JsonObject>("notifications/progress"),
  message: method<JsonObject>("notifications/message"),
  pageDone: method<JsonObject>("notifications/elicitation/complete"),
} as const;

import { method } from "../../rpc/method.ts";
import type { JsonObject } from "./json-object.ts";
import * as schema from "./schema.gen.ts";

const asks = <P>(name: string, check?: Parameters<typeof method>[1]) =>
  method<P, JsonObject>(name, check);

/** The requests that clients send. */
export const METHODS = {
  initialize: asks<schema.InitializeParams>("initialize", { check: schema.checkInitializeParams }),
  discover: asks<JsonObject>("server/discover"),
  ping: asks<JsonObject>("ping"),
  setLevel: asks<schema.SetLevelParams>("logging/setLevel", { check: schema.checkSetLevelParams }),
  listTools: asks<schema.ListParams>("tools/list", { check: schema.checkListParams }),
  callTool: asks<schema.CallToolParams>("tools/call", { check: schema.checkCallToolParams }),
  listResources: asks<schema.ListParams>("resources/list", { check: schema.checkListParams }),
  listTemplates: asks<schema.ListParams>("resources/templates/list", {
    check: schema.checkListParams,
  }),
  readResource: asks<schema.ReadResourceParams>("resources/read", {
    check: schema.checkReadResourceParams,
  }),
  subscribe: asks<schema.WatchParams>("resources/subscribe", { check: schema.checkWatchParams }),
  unsubscribe: asks<schema.WatchParams>("resources/unsubscribe", {
    check: schema.checkWatchParams,
  }),
  listPrompts: asks<schema.ListParams>("prompts/list", { check: schema.checkListParams }),
  getPrompt: asks<schema.GetPromptParams>("prompts/get", { check: schema.checkGetPromptParams }),
  complete: asks<schema.CompleteParams>("completion/complete", {
    check: schema.checkCompleteParams,
  }),
  listSkills: asks<schema.ListParams>("skills/list", { check: schema.checkListParams }),
  getSkill: asks<schema.ReadResourceParams>("skills/get", {
    check: schema.checkReadResourceParams,
  }),
  readDirectory: asks<schema.ReadResourceParams>("resources/directory/read", {
    check: schema.checkReadResourceParams,
  }),
  listen: asks<schema.ListenParams>("subscriptions/listen", { check: schema.checkListenParams }),
  getTask: asks<schema.TaskParams>("tasks/get", { check: schema.checkTaskParams }),
  taskResult: asks<schema.TaskParams>("tasks/result", { check: schema.checkTaskParams }),
  listTasks: asks<schema.ListParams>("tasks/list", { check: schema.checkListParams }),
  cancelTask: asks<schema.TaskParams>("tasks/cancel", { check: schema.checkTaskParams }),
  updateTask: asks<schema.UpdateTaskParams>("tasks/update", {
    check: schema.checkUpdateTaskParams,
  }),
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

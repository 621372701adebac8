import { type Method, notification, request } from "../../rpc/method.ts";
import * as schema from "./schema.gen.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

export function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? value.map(objectOf) : [];
}

/** ACP extensibility § The _meta Field: what a message holds for Trunkline. */
export function ours(meta: unknown): JsonObject {
  return objectOf(objectOf(meta).trunkline);
}

/** Methods that clients call at agents. */
export const METHODS = {
  initialize: request("initialize", schema.checkInitializeParams, schema.checkInitializeResult),
  authenticate: request("authenticate", schema.checkAuthenticateParams),
  logout: request("logout"),
  /** Version 2 has other names for these two. */
  login: request("auth/login", schema.checkAuthenticateParams),
  logoutAuth: request("auth/logout"),
  authStatus: request("auth/status"),
  listProviders: request("providers/list"),
  setProvider: request("providers/set", schema.checkSetProviderParams),
  disableProvider: request("providers/disable", schema.checkProviderParams),
  setTitle: request("session/set_title", schema.checkSetTitleParams),
  archiveSession: request("session/archive", schema.checkSessionParams),
  unarchiveSession: request("session/unarchive", schema.checkSessionParams),
  sessionStatus: request("session/status", schema.checkSessionParams),
  cancelToolCall: request("tool_call/cancel", schema.checkCancelToolCallParams),
  cancelTerminal: request("terminal/cancel", schema.checkTerminalParams),
  newSession: request("session/new", schema.checkNewSessionParams, schema.checkNewSessionResult),
  createSession: request(
    "session/create",
    schema.checkNewSessionParams,
    schema.checkNewSessionResult,
  ),
  loadSession: request("session/load", schema.checkOldSessionParams, schema.checkSettingsResult),
  resumeSession: request(
    "session/resume",
    schema.checkOldSessionParams,
    schema.checkSettingsResult,
  ),
  forkSession: request("session/fork", schema.checkOldSessionParams, schema.checkNewSessionResult),
  listSessions: request<schema.ListSessionsParams, JsonObject>(
    "session/list",
    schema.checkListSessionsParams,
  ),
  deleteSession: request("session/delete", schema.checkSessionParams),
  closeSession: request("session/close", schema.checkSessionParams),
  setMode: request("session/set_mode", schema.checkSetModeParams),
  setModel: request("session/set_model", schema.checkSetModelParams),
  setConfigOption: request(
    "session/set_config_option",
    schema.checkSetConfigOptionParams,
    schema.checkSettingsResult,
  ),
  prompt: request("session/prompt", schema.checkPromptParams, schema.checkPromptResult),
  steer: request<schema.PromptParams, JsonObject>("_session/steering", schema.checkPromptParams),
  /** Answers a permission request that the client was not asked itself, such as from a notification. */
  answer: request<schema.AnswerParams, JsonObject>("_session/answer", schema.checkAnswerParams),
  cancel: notification("session/cancel", schema.checkSessionParams),
  /** A notification of an MCP server that the client has itself. */
  mcpMessage: notification("mcp/message", schema.checkMcpMessageParams),
  /** Asks another of our processes whether it still answers. */
  ping: request<JsonObject, JsonObject>("_trunkline/ping"),
} as const;

export interface QueuedParams {
  readonly place: number;
  /** The same for a person. */
  readonly message: string;
}

/** Methods that agents call at clients. */
export const CLIENT_METHODS = {
  /** A session that is opened has to wait for a place. Of our own. */
  queued: notification<QueuedParams>("_session/queued"),
  update: notification("session/update", schema.checkUpdateParams),
  authStatusUpdate: notification("auth/status_update"),
  /** The same of agents that had it before the schema did. */
  earlyAuthStatusUpdate: notification("_auth/status_update"),
  elicitationComplete: notification("elicitation/complete"),
  requestPermission: request(
    "session/request_permission",
    schema.checkPermissionParams,
    schema.checkPermissionResult,
  ),
  readTextFile: request(
    "fs/read_text_file",
    schema.checkReadFileParams,
    schema.checkReadFileResult,
  ),
  writeTextFile: request("fs/write_text_file", schema.checkWriteFileParams),
  createTerminal: request(
    "terminal/create",
    schema.checkCreateTerminalParams,
    schema.checkCreateTerminalResult,
  ),
  terminalOutput: request(
    "terminal/output",
    schema.checkTerminalParams,
    schema.checkTerminalOutputResult,
  ),
  waitForExit: request("terminal/wait_for_exit", schema.checkTerminalParams),
  killTerminal: request("terminal/kill", schema.checkTerminalParams),
  releaseTerminal: request("terminal/release", schema.checkTerminalParams),
  /** A request to an MCP server that the client has itself. */
  mcpMessage: request("mcp/message", schema.checkMcpMessageParams, schema.checkMcpMessageResult),
  elicit: request("elicitation/create", schema.checkElicitParams, schema.checkElicitResult),
} as const;

const BY_NAME = new Map(
  Object.values(CLIENT_METHODS).map((one) => [one.name, one as Method<object, unknown>]),
);

/** The method of that name at clients. */
export function clientMethod(name: string): Method<object, unknown> {
  return BY_NAME.get(name) ?? { name };
}

import { type Method, method } from "../../rpc/method.ts";
import * as schema from "./schema.gen.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** ACP extensibility § The _meta Field: what a message holds for Trunkline. */
export function ours(meta: unknown): JsonObject {
  return objectOf(objectOf(meta).trunkline);
}

const settings = { check: schema.checkOldSessionParams, checkResult: schema.checkSettingsResult };
const session = { check: schema.checkSessionParams };

/** Methods that clients call at agents. */
export const METHODS = {
  initialize: method<schema.InitializeParams, schema.InitializeResult>("initialize", {
    check: schema.checkInitializeParams,
    checkResult: schema.checkInitializeResult,
  }),
  authenticate: method<schema.AuthenticateParams, unknown>("authenticate", {
    check: schema.checkAuthenticateParams,
  }),
  logout: method<JsonObject, unknown>("logout"),
  /** Version 2 has other names for these two. */
  login: method<schema.AuthenticateParams, unknown>("auth/login", {
    check: schema.checkAuthenticateParams,
  }),
  logoutAuth: method<JsonObject, unknown>("auth/logout"),
  authStatus: method<JsonObject, unknown>("auth/status"),
  listProviders: method<JsonObject, unknown>("providers/list"),
  setProvider: method<JsonObject, unknown>("providers/set", {
    check: schema.checkSetProviderParams,
  }),
  disableProvider: method<JsonObject, unknown>("providers/disable", {
    check: schema.checkProviderParams,
  }),
  setTitle: method<schema.SetTitleParams, unknown>("session/set_title", {
    check: schema.checkSetTitleParams,
  }),
  archiveSession: method<schema.SessionParams, unknown>("session/archive", session),
  unarchiveSession: method<schema.SessionParams, unknown>("session/unarchive", session),
  sessionStatus: method<schema.SessionParams, unknown>("session/status", session),
  cancelToolCall: method<schema.CancelToolCallParams, unknown>("tool_call/cancel", {
    check: schema.checkCancelToolCallParams,
  }),
  cancelTerminal: method<schema.TerminalParams, unknown>("terminal/cancel", {
    check: schema.checkTerminalParams,
  }),
  newSession: method<schema.NewSessionParams, schema.NewSessionResult>("session/new", {
    check: schema.checkNewSessionParams,
    checkResult: schema.checkNewSessionResult,
  }),
  createSession: method<schema.NewSessionParams, schema.NewSessionResult>("session/create", {
    check: schema.checkNewSessionParams,
    checkResult: schema.checkNewSessionResult,
  }),
  loadSession: method<schema.OldSessionParams, schema.SettingsResult>("session/load", settings),
  resumeSession: method<schema.OldSessionParams, schema.SettingsResult>("session/resume", settings),
  forkSession: method<schema.OldSessionParams, schema.NewSessionResult>("session/fork", {
    check: schema.checkOldSessionParams,
    checkResult: schema.checkNewSessionResult,
  }),
  listSessions: method<schema.ListSessionsParams, JsonObject>("session/list", {
    check: schema.checkListSessionsParams,
  }),
  deleteSession: method<schema.SessionParams, unknown>("session/delete", session),
  closeSession: method<schema.SessionParams, unknown>("session/close", session),
  setMode: method<schema.SetModeParams, unknown>("session/set_mode", {
    check: schema.checkSetModeParams,
  }),
  setModel: method<schema.SetModelParams, unknown>("session/set_model", {
    check: schema.checkSetModelParams,
  }),
  setConfigOption: method<schema.SetConfigOptionParams, schema.SettingsResult>(
    "session/set_config_option",
    {
      check: schema.checkSetConfigOptionParams,
      checkResult: schema.checkSettingsResult,
    },
  ),
  prompt: method<schema.PromptParams, schema.PromptResult>("session/prompt", {
    check: schema.checkPromptParams,
    checkResult: schema.checkPromptResult,
  }),
  steer: method<schema.PromptParams, JsonObject>("_session/steering", {
    check: schema.checkPromptParams,
  }),
  /** Answers a permission request that the client was not asked itself, such as from a notification. */
  answer: method<schema.AnswerParams, JsonObject>("_session/answer", {
    check: schema.checkAnswerParams,
  }),
  cancel: method<schema.SessionParams>("session/cancel", session),
  /** A notification of an MCP server that the client has itself. */
  mcpMessage: method<schema.McpMessageParams>("mcp/message", {
    check: schema.checkMcpMessageParams,
  }),
  /** Asks another of our processes whether it still answers. */
  ping: method<JsonObject, JsonObject>("_trunkline/ping"),
} as const;

export interface QueuedParams {
  readonly place: number;
  /** The same for a person. */
  readonly message: string;
}

/** Methods that agents call at clients. */
export const CLIENT_METHODS = {
  /** A session that is opened has to wait for a place. Of our own. */
  queued: method<QueuedParams>("_session/queued"),
  update: method<schema.UpdateParams>("session/update", { check: schema.checkUpdateParams }),
  authStatusUpdate: method<JsonObject>("auth/status_update"),
  /** The same of agents that had it before the schema did. */
  earlyAuthStatusUpdate: method<JsonObject>("_auth/status_update"),
  elicitationComplete: method<JsonObject>("elicitation/complete"),
  requestPermission: method<schema.PermissionParams, unknown>("session/request_permission", {
    check: schema.checkPermissionParams,
    checkResult: schema.checkPermissionResult,
  }),
  readTextFile: method<schema.ReadFileParams, schema.ReadFileResult>("fs/read_text_file", {
    check: schema.checkReadFileParams,
    checkResult: schema.checkReadFileResult,
  }),
  writeTextFile: method<schema.WriteFileParams, unknown>("fs/write_text_file", {
    check: schema.checkWriteFileParams,
  }),
  createTerminal: method<schema.CreateTerminalParams, unknown>("terminal/create", {
    check: schema.checkCreateTerminalParams,
    checkResult: schema.checkCreateTerminalResult,
  }),
  terminalOutput: method<schema.TerminalParams, unknown>("terminal/output", {
    check: schema.checkTerminalParams,
    checkResult: schema.checkTerminalOutputResult,
  }),
  waitForExit: method<schema.TerminalParams, unknown>("terminal/wait_for_exit", {
    check: schema.checkTerminalParams,
  }),
  killTerminal: method<schema.TerminalParams, unknown>("terminal/kill", {
    check: schema.checkTerminalParams,
  }),
  releaseTerminal: method<schema.TerminalParams, unknown>("terminal/release", {
    check: schema.checkTerminalParams,
  }),
  /** A request to an MCP server that the client has itself. */
  mcpMessage: method<schema.McpMessageParams, object>("mcp/message", {
    check: schema.checkMcpMessageParams,
    checkResult: schema.checkMcpMessageResult,
  }),
  elicit: method<schema.ElicitParams, unknown>("elicitation/create", {
    check: schema.checkElicitParams,
    checkResult: schema.checkElicitResult,
  }),
} as const;

const BY_NAME = new Map(
  Object.values(CLIENT_METHODS).map((one) => [one.name, one as Method<object, unknown>]),
);

/** The method of that name at clients. */
export function clientMethod(name: string): Method<object, unknown> {
  return BY_NAME.get(name) ?? { name };
}

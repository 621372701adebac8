import { type Method, method } from "../../rpc/method.ts";
import {
  type AuthenticateParams,
  checkAuthenticateParams,
  checkCreateTerminalParams,
  checkCreateTerminalResult,
  checkElicitParams,
  checkElicitResult,
  checkInitializeParams,
  checkInitializeResult,
  checkListSessionsParams,
  checkNewSessionParams,
  checkNewSessionResult,
  checkOldSessionParams,
  checkPermissionParams,
  checkPermissionResult,
  checkAnswerParams,
  checkPromptParams,
  checkPromptResult,
  checkReadFileParams,
  checkReadFileResult,
  checkSessionParams,
  checkSetConfigOptionParams,
  checkSetModelParams,
  checkSetModeParams,
  checkSettingsResult,
  checkTerminalOutputResult,
  checkTerminalParams,
  checkUpdateParams,
  checkWriteFileParams,
  type CreateTerminalParams,
  type ElicitParams,
  type InitializeParams,
  type InitializeResult,
  type ListSessionsParams,
  type NewSessionParams,
  type NewSessionResult,
  type OldSessionParams,
  type PermissionParams,
  type AnswerParams,
  type PromptParams,
  type PromptResult,
  type ReadFileParams,
  type ReadFileResult,
  type SessionParams,
  type SetConfigOptionParams,
  type SetModelParams,
  type SetModeParams,
  type SettingsResult,
  type TerminalParams,
  type UpdateParams,
  type WriteFileParams,
} from "./schema.gen.ts";

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

const settings = { check: checkOldSessionParams, checkResult: checkSettingsResult };
const session = { check: checkSessionParams };

/** Methods that clients call at agents. */
export const METHODS = {
  initialize: method<InitializeParams, InitializeResult>("initialize", {
    check: checkInitializeParams,
    checkResult: checkInitializeResult,
  }),
  authenticate: method<AuthenticateParams, unknown>("authenticate", {
    check: checkAuthenticateParams,
  }),
  logout: method<JsonObject, unknown>("logout"),
  newSession: method<NewSessionParams, NewSessionResult>("session/new", {
    check: checkNewSessionParams,
    checkResult: checkNewSessionResult,
  }),
  createSession: method<NewSessionParams, NewSessionResult>("session/create", {
    check: checkNewSessionParams,
    checkResult: checkNewSessionResult,
  }),
  loadSession: method<OldSessionParams, SettingsResult>("session/load", settings),
  resumeSession: method<OldSessionParams, SettingsResult>("session/resume", settings),
  forkSession: method<OldSessionParams, NewSessionResult>("session/fork", {
    check: checkOldSessionParams,
    checkResult: checkNewSessionResult,
  }),
  listSessions: method<ListSessionsParams, JsonObject>("session/list", {
    check: checkListSessionsParams,
  }),
  deleteSession: method<SessionParams, unknown>("session/delete", session),
  closeSession: method<SessionParams, unknown>("session/close", session),
  setMode: method<SetModeParams, unknown>("session/set_mode", { check: checkSetModeParams }),
  setModel: method<SetModelParams, unknown>("session/set_model", { check: checkSetModelParams }),
  setConfigOption: method<SetConfigOptionParams, SettingsResult>("session/set_config_option", {
    check: checkSetConfigOptionParams,
    checkResult: checkSettingsResult,
  }),
  prompt: method<PromptParams, PromptResult>("session/prompt", {
    check: checkPromptParams,
    checkResult: checkPromptResult,
  }),
  steer: method<PromptParams, JsonObject>("_session/steering", { check: checkPromptParams }),
  /** Answers a permission request that the client was not asked itself, such as from a notification. */
  answer: method<AnswerParams, JsonObject>("_session/answer", { check: checkAnswerParams }),
  cancel: method<SessionParams>("session/cancel", session),
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
  update: method<UpdateParams>("session/update", { check: checkUpdateParams }),
  requestPermission: method<PermissionParams, unknown>("session/request_permission", {
    check: checkPermissionParams,
    checkResult: checkPermissionResult,
  }),
  readTextFile: method<ReadFileParams, ReadFileResult>("fs/read_text_file", {
    check: checkReadFileParams,
    checkResult: checkReadFileResult,
  }),
  writeTextFile: method<WriteFileParams, unknown>("fs/write_text_file", {
    check: checkWriteFileParams,
  }),
  createTerminal: method<CreateTerminalParams, unknown>("terminal/create", {
    check: checkCreateTerminalParams,
    checkResult: checkCreateTerminalResult,
  }),
  terminalOutput: method<TerminalParams, unknown>("terminal/output", {
    check: checkTerminalParams,
    checkResult: checkTerminalOutputResult,
  }),
  waitForExit: method<TerminalParams, unknown>("terminal/wait_for_exit", {
    check: checkTerminalParams,
  }),
  killTerminal: method<TerminalParams, unknown>("terminal/kill", { check: checkTerminalParams }),
  releaseTerminal: method<TerminalParams, unknown>("terminal/release", {
    check: checkTerminalParams,
  }),
  elicit: method<ElicitParams, unknown>("elicitation/create", {
    check: checkElicitParams,
    checkResult: checkElicitResult,
  }),
} as const;

const BY_NAME = new Map(
  Object.values(CLIENT_METHODS).map((one) => [one.name, one as Method<object, unknown>]),
);

/** The method of that name at clients. */
export function clientMethod(name: string): Method<object, unknown> {
  return BY_NAME.get(name) ?? { name };
}

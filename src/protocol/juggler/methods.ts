import { ACP } from "../../rpc/codes.ts";
import type { Dialect } from "../../rpc/peer-options.ts";
import { method } from "../../rpc/method.ts";
import type { ToolDefinition } from "../../tool/tool.ts";
import {
  checkExecuteActionParams,
  checkInitializeParams,
  type ExecuteActionParams,
  type InitializeParams,
} from "./schema.gen.ts";

/** RemoteJuggler's "Agent Communication Protocol", with which JetBrains IDEs run actions. */
export const jugglerDialect: Dialect = {
  name: "juggler",
  batches: false,
  nullIdIsNotification: false,
  cancel: { method: "$/cancel_request", answer: ACP.cancelled },
  methodNotFound: () => "Method not found",
};

export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  readonly description: string;
}

export interface InitializeResult {
  readonly serverInfo: ServerInfo;
  readonly tools: readonly ToolDefinition[];
}

export interface ExecuteActionResult {
  readonly success: boolean;
  readonly output: string;
}

/** RemoteJuggler, "Server Registration". */
export const initialize = method<InitializeParams, InitializeResult>("acp/initialize", {
  check: checkInitializeParams,
});

/** RemoteJuggler, "Execute Action". */
export const executeAction = method<ExecuteActionParams, ExecuteActionResult>("acp/executeAction", {
  check: checkExecuteActionParams,
});

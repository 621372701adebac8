import type { Log } from "../../base/log.ts";
import { checkAnswer } from "../../protocol/bus/answer.ts";
import type { BusClient } from "../../protocol/bus/connect.ts";
import { contentText } from "../../protocol/bus/shape/content-text.ts";
import { toStruct } from "../../protocol/bus/shape/json-struct.ts";
import type { ToolResponse } from "../../protocol/bus/plugin.gen.ts";
import { fromToolResponse } from "../../protocol/bus/shape/tool-result.ts";
import { type ToolCall, toToolRequest } from "../../protocol/bus/shape/tool-shape.ts";
import type { CallContext, CallResult, PluginContext } from "./context.ts";
import { remoteStorage } from "./remote-storage.ts";
import { ToolError } from "./tool-error.ts";
import { Semaphore } from "../../base/limit/semaphore.ts";

export const ORCHESTRATOR = "The orchestrator";
/** Requests of one handler to the orchestrator at once; more wait. */
const AT_ONCE = 8;

export interface OrchestratorAccessOptions {
  /** The id of the plugin. */
  readonly id: string;
  readonly client: BusClient;
  readonly log: Log;
  /** Resolves when the plugin is registered; undefined if it is. */
  readonly registered?: () => Promise<void> | undefined;
  /** The default type of storage; empty for the orchestrator's own. */
  readonly storageType: string;
}

export type OrchestratorAccess = ReturnType<typeof orchestratorAccess>;

/** Makes the context that a plugin's handlers get: tools, storage and events of the orchestrator. */
export function orchestratorAccess({
  client,
  id,
  log,
  registered,
  storageType,
}: OrchestratorAccessOptions) {
  /**
   * The context of a handler, valid until the signal is aborted. `call` is the call that it answers, if
   * any: a tool that is called from it belongs to the same session, project and trace.
   *
   * A handler has few requests under way at once, and waits only for its own: if it waited for those of
   * another handler, which waits for this one, neither would end.
   */
  const context = (signal: AbortSignal, call: Partial<ToolCall> = {}): PluginContext => {
    const { session, project, traceParent } = call;
    const slots = new Semaphore({ running: AT_ONCE });
    const ask: BusClient["ask"] = (request, options) =>
      slots.run(() => client.ask(request, options), { signal });
    return {
      log,
      signal,
      storage: remoteStorage({ ask }, storageType, signal),
      callTool: async (name, args = {}) => {
        const value = toToolRequest({ name, args, caller: id, session, project, traceParent });
        const registering = registered?.();
        if (registering !== undefined) await registering;
        const { response } = await ask({ case: "toolCall", value }, { signal });
        if (response.case === "toolCall") return callResult(response.value);
        throw new ToolError("invalid_response", `${ORCHESTRATOR} gave no answer to '${name}'`);
      },
      publish: async (topic, type, payload = {}) => {
        const json = toStruct(payload, "payload");
        const value = { topic, eventType: type, payload: json, sourcePlugin: id };
        checkAnswer(ORCHESTRATOR, await ask({ case: "publish", value }, { signal }));
      },
    };
  };
  const callContext = (signal: AbortSignal, call: ToolCall): CallContext => {
    const { caller = "", session, project, provider } = call;
    return {
      ...context(signal, call),
      caller,
      ...(session === undefined ? {} : { sessionId: session }),
      ...(project === undefined ? {} : { project }),
      ...(provider === undefined ? {} : { provider }),
    };
  };
  return { context, callContext };
}

/** Returns a tool's result, or throws its failure. */
export function callResult(response: ToolResponse): CallResult {
  if (!response.success) {
    const { errorCode, errorMessage, result } = response;
    throw new ToolError(errorCode || "tool_error", errorMessage || "It gave no reason", result);
  }
  const { content, structuredContent } = fromToolResponse(response);
  return {
    text: contentText(content),
    content,
    ...(structuredContent === undefined ? {} : { structured: structuredContent }),
  };
}

import type { Log } from "../../base/log.ts";
import { checkAnswer } from "../../protocol/bus/answer.ts";
import type { Asked, AskOptions, BusClient } from "../../protocol/bus/connect.ts";
import { contentText } from "../../protocol/bus/shape/content-text.ts";
import { toStruct } from "../../protocol/bus/shape/json-struct.ts";
import type { PluginResponse, ToolResponse } from "../../protocol/bus/plugin.gen.ts";
import { fromToolResponse } from "../../protocol/bus/shape/tool-result.ts";
import { type ToolCall, toToolRequest } from "../../protocol/bus/shape/tool-shape.ts";
import type { CallContext, CallResult, PluginContext } from "./context.ts";
import { RemoteStorage } from "./remote-storage.ts";
import { ToolError } from "./tool-error.ts";
import { Semaphore } from "../../base/limit/semaphore.ts";

export const ORCHESTRATOR = "The orchestrator";

export interface OutsideOptions {
  /** The id of the plugin. */
  readonly id: string;
  readonly client: BusClient;
  readonly log: Log;
  /** Resolves when the plugin is registered; undefined if it is. */
  readonly registered?: () => Promise<void> | undefined;
  /** The default type of storage; empty for the orchestrator's own. */
  readonly storageType: string;
}

/** Makes the context that a plugin's handlers get: tools, storage and events of the orchestrator. */
export class Outside {
  readonly #options: OutsideOptions;

  constructor(options: OutsideOptions) {
    this.#options = options;
  }

  /** The context of a handler, valid until the signal is aborted. `call` is the call that it answers, if any. */
  context(signal: AbortSignal, call?: ToolCall): PluginContext {
    const { client, id, log, storageType } = this.#options;
    const own = new OwnRequests(client);
    return {
      log,
      signal,
      storage: new RemoteStorage(own, signal, storageType),
      callTool: (name, args = {}) =>
        this.#callTool({ ...inherited(call), name, args }, signal, own),
      publish: async (topic, type, payload = {}) => {
        const json = toStruct(payload, "payload");
        const value = { topic, eventType: type, payload: json, sourcePlugin: id };
        checkAnswer(ORCHESTRATOR, await own.ask({ case: "publish", value }, { signal }));
      },
    };
  }

  callContext(signal: AbortSignal, call: ToolCall): CallContext {
    const { caller = "", session, project, provider } = call;
    return {
      ...this.context(signal, call),
      caller,
      ...(session === undefined ? {} : { sessionId: session }),
      ...(project === undefined ? {} : { project }),
      ...(provider === undefined ? {} : { provider }),
    };
  }

  async #callTool(call: ToolCall, signal: AbortSignal, own: OwnRequests): Promise<CallResult> {
    const { id, registered } = this.#options;
    const value = toToolRequest({ ...call, caller: id });
    const registering = registered?.();
    if (registering !== undefined) await registering;
    const { response } = await own.ask({ case: "toolCall", value }, { signal });
    if (response.case === "toolCall") return callResult(response.value);
    throw new ToolError("invalid_response", `${ORCHESTRATOR} gave no answer to '${call.name}'`);
  }
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

/** A tool that is called from a call belongs to the same session, project and trace. */
function inherited(
  call: ToolCall | undefined,
): Pick<ToolCall, "session" | "project" | "traceParent"> {
  const { session, project, traceParent } = call ?? {};
  return {
    ...(project === undefined ? {} : { project }),
    ...(session === undefined ? {} : { session }),
    ...(traceParent === undefined ? {} : { traceParent }),
  };
}

/** Requests of one handler to the orchestrator at once; more wait. */
const AT_ONCE = 8;

/**
 * The requests of one handler to the orchestrator, few at once. A handler waits only for its own
 * requests: if it waited for those of another handler, which waits for this one, neither would end.
 */
class OwnRequests implements Pick<BusClient, "ask"> {
  readonly #client: BusClient;
  readonly #slots = new Semaphore({ running: AT_ONCE });

  constructor(client: BusClient) {
    this.#client = client;
  }

  ask(request: Asked, options: AskOptions = {}): Promise<PluginResponse> {
    return this.#slots.run(() => this.#client.ask(request, options), { signal: options.signal });
  }
}

import type { Log } from "../../base/log.ts";
import type { Stop } from "../../base/stop.ts";
import { checkAnswer } from "../../protocol/bus/answer.ts";
import type { Asked, AskOptions, BusClient } from "../../protocol/bus/connect.ts";
import { contentText } from "../../protocol/bus/shape/content-text.ts";
import { toStruct } from "../../protocol/bus/shape/json-struct.ts";
import type { PluginResponse, ToolResponse } from "../../protocol/bus/plugin.gen.ts";
import { fromToolResponse } from "../../protocol/bus/shape/tool-result.ts";
import { type ToolCall, toToolRequest } from "../../protocol/bus/shape/tool-shape.ts";
import type { CallContext, CallResult, PluginContext, PluginStorage } from "./context.ts";
import { RemoteStorage } from "./remote-storage.ts";
import { ToolError } from "./tool-error.ts";
import { Slots } from "../../base/limit/slots.ts";

export const ORCHESTRATOR = "The orchestrator";

export interface OutsideOptions {
  /** The plugin that this is the outside of. */
  readonly id: string;
  readonly client: BusClient;
  readonly log: Log;
  /** Resolves when the orchestrator knows what the plugin may call; undefined when it does. */
  readonly registered?: () => Promise<void> | undefined;
  /** The kind of storage that is meant where nothing is said; empty for the orchestrator's. */
  readonly storageType: string;
}

/** Makes the context that a plugin's handlers get: tools, storage and events of the orchestrator. */
export class Outside {
  readonly #options: OutsideOptions;

  constructor(options: OutsideOptions) {
    this.#options = options;
  }

  /** For whatever is done until the stop comes, on behalf of a call if there is one. */
  context(stop: Stop, call?: ToolCall): PluginContext {
    return this.#context(stop, call);
  }

  callContext(stop: Stop, call: ToolCall): CallContext {
    const context: Mutable<CallContext> = this.#context(stop, call);
    context.caller = call.caller ?? "";
    if (call.session !== undefined) context.sessionId = call.session;
    if (call.project !== undefined) context.project = call.project;
    if (call.provider !== undefined) context.provider = call.provider;
    return context;
  }

  #context(stop: Stop, call: ToolCall | undefined): HandlerContext {
    const { client, id, log, storageType } = this.#options;
    const asking = new Asking(client, stop, storageType);
    return new HandlerContext(
      asking,
      log,
      (name, args = {}) => this.#callTool({ ...inherited(call), name, args }, stop, asking.own),
      async (topic, type, payload = {}) => {
        const value = {
          topic,
          eventType: type,
          payload: toStruct(payload, "payload"),
          sourcePlugin: id,
        };
        checkAnswer(ORCHESTRATOR, await asking.own.ask({ case: "publish", value }, { stop }));
      },
    );
  }

  async #callTool(call: ToolCall, stop: Stop, own: OwnRequests): Promise<CallResult> {
    const { id, registered } = this.#options;
    const value = toToolRequest({ ...call, caller: id });
    const registering = registered?.();
    if (registering !== undefined) await registering;
    const { response } = await own.ask({ case: "toolCall", value }, { stop });
    if (response.case === "toolCall") return callResult(response.value);
    throw new ToolError("invalid_response", `${ORCHESTRATOR} gave no answer to '${call.name}'`);
  }
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** What a handler may ask for, until it is stopped. */
class Asking {
  readonly stop: Stop;
  readonly storageType: string;
  readonly #client: BusClient;
  #own: OwnRequests | undefined;

  constructor(client: BusClient, stop: Stop, storageType: string) {
    this.#client = client;
    this.stop = stop;
    this.storageType = storageType;
  }

  /** Most handlers ask the orchestrator for nothing. */
  get own(): OwnRequests {
    this.#own ??= new OwnRequests(this.#client);
    return this.#own;
  }
}

const ASKING = Symbol("asking");

/** The members that are made for whoever reads them. They are copied with the others. */
const GETTERS = {
  signal: {
    get(this: HandlerContext) {
      return this[ASKING].stop.signal;
    },
    enumerable: true,
    configurable: true,
  },
  storage: {
    get(this: HandlerContext) {
      const { own, stop, storageType } = this[ASKING];
      return new RemoteStorage(own, stop, storageType);
    },
    enumerable: true,
    configurable: true,
  },
};

/**
 * A context. All have the same two getters: for an object that is written with getters V8 makes new ones,
 * and a hidden class that refers to them. It is in the old heap at once, and all that the getters know, such
 * as the whole call, stays until that is collected.
 */
class HandlerContext implements CallContext {
  readonly [ASKING]: Asking;
  readonly log: PluginContext["log"];
  declare readonly signal: AbortSignal;
  declare readonly storage: PluginStorage;
  readonly callTool: PluginContext["callTool"];
  readonly publish: PluginContext["publish"];
  declare caller: string;

  constructor(
    asking: Asking,
    log: PluginContext["log"],
    callTool: PluginContext["callTool"],
    publish: PluginContext["publish"],
  ) {
    this[ASKING] = asking;
    this.log = log;
    Object.defineProperty(this, "signal", GETTERS.signal);
    Object.defineProperty(this, "storage", GETTERS.storage);
    this.callTool = callTool;
    this.publish = publish;
  }
}

/** A tool's answer, or its failure thrown. */
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

/** What one handler may ask the orchestrator at once; more wait. */
const AT_ONCE = 8;

/**
 * The requests of one handler to the orchestrator, few at once. A handler waits only for its own
 * requests: if it waited for those of another handler, which waits for this one, neither would end.
 */
class OwnRequests implements Pick<BusClient, "ask"> {
  readonly #client: BusClient;
  readonly #slots = new Slots(AT_ONCE);

  constructor(client: BusClient) {
    this.#client = client;
  }

  async ask(request: Asked, options: AskOptions = {}): Promise<PluginResponse> {
    const entering = this.#slots.take(options.stop);
    if (entering !== undefined) await entering;
    try {
      return await this.#client.ask(request, options);
    } finally {
      this.#slots.leave();
    }
  }
}

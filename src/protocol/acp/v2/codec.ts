import { ACP, TRUNKLINE } from "../../../rpc/codes.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import type { ClientMethod, ShownUpdate } from "../../../session/client/client.ts";
import type { AgentOffer, Codec, Hello, Implementation } from "../codec.ts";
import { isObject, type JsonObject, objectOf, ours } from "../methods.ts";
import type { InitializeParams } from "../schema.gen.ts";
import { MessageIds } from "./message-ids.ts";
import { optionsInV2, toolCallInV2, updateInV2 } from "./update.ts";

type State = "idle" | "running" | "requires_action";

/** What a client was told about one session. */
interface ToldState {
  readonly ids: MessageIds;
  state: State;
  /** Open requests to the client. */
  questions: number;
}

const CAPABILITIES = {
  session: {
    prompt: { image: {}, embeddedContext: {} },
    mcp: { stdio: {}, http: {} },
    delete: {},
    fork: {},
    additionalDirectories: {},
    title: {},
    archive: {},
    status: {},
  },
  auth: { status: {} },
} as const;

const LACKS: ReadonlySet<string> = new Set([
  "authenticate",
  "logout",
  "session/load",
  "session/set_mode",
  "session/set_model",
  "_session/steering",
]);

/**
 * ACP version 2 (draft). A prompt is answered when it is accepted; `state_update` tells when its turn
 * ends. Messages have ids, and tool calls, plans, diffs and options have another shape.
 */
export class V2Codec implements Codec {
  readonly version = 2;
  readonly isEchoed = true;
  readonly lacks = LACKS;
  readonly closesAgain = true;
  readonly #told = new Map<string, ToldState>();

  name({ info }: InitializeParams): string | undefined {
    return info?.name;
  }

  capabilities({ capabilities }: InitializeParams): ReturnType<Codec["capabilities"]> {
    const elicitation = objectOf(capabilities?.elicitation);
    return {
      // ACP version 2 has no files and terminals of the client.
      readTextFile: false,
      writeTextFile: false,
      terminal: false,
      forms: isObject(elicitation.form),
      pages: isObject(elicitation.url),
      // ACP version 2: every client may be sent these.
      notices: true,
      compaction: true,
      plans: true,
      subagents: true,
      booleans: true,
      terminals: "updates",
    };
  }

  hello(info: Implementation, offer: AgentOffer): Hello {
    const { authMethods, hasProviders, takesClientServers, systemPrompt } = offer;
    const { session } = CAPABILITIES;
    const capabilities = {
      ...CAPABILITIES,
      session: {
        ...session,
        mcp: { ...session.mcp, ...(takesClientServers ? { acp: {} } : {}) },
        ...(systemPrompt === undefined ? {} : { systemPrompt }),
      },
      ...(hasProviders ? { providers: {} } : {}),
    };
    return { protocolVersion: 2, info, capabilities, authMethods };
  }

  authMethod({ id, type = "agent", ...method }: JsonObject): JsonObject {
    return { methodId: id, type, ...method };
  }

  update(sessionId: string, { seq, text }: ShownUpdate): string | undefined {
    const told = this.#of(sessionId);
    const update = JSON.parse(text) as JsonObject & { readonly sessionUpdate: string };
    const { turn } = ours(update._meta);
    if (update.sessionUpdate === "session_info_update" && isObject(turn)) {
      return this.#turned(told, turn);
    }
    const shown = updateInV2(told.ids.put(update, seq));
    return shown && JSON.stringify(shown);
  }

  question(method: ClientMethod, params: object): object {
    if (method !== "session/request_permission") return params;
    const { sessionId, toolCall, options, _meta } = params as JsonObject;
    const { title } = objectOf(toolCall);
    return {
      sessionId,
      title: typeof title === "string" ? title : "The agent asks for permission",
      // A person must see all of the change that they allow.
      subject: { type: "tool_call", toolCall: toolCallInV2(objectOf(toolCall), Infinity) },
      options,
      ...(_meta === undefined ? {} : { _meta }),
    };
  }

  answer(method: string, result: unknown): unknown {
    if (method === "session/close" || method === "session/delete") return {};
    if (!isObject(result) || !("configOptions" in result || "modes" in result)) return result;
    const { modes: _modes, models: _models, configOptions, ...rest } = result;
    return { ...rest, configOptions: optionsInV2(configOptions) };
  }

  /** Version 2 answers an unknown session with "resource not found". */
  failure(error: unknown, params: unknown): unknown {
    if (!(error instanceof RpcError) || error.code !== ACP.sessionNotFound.code) return error;
    const { sessionId } = objectOf(params);
    return RpcError.of(ACP.resourceNotFound, undefined, { ...objectOf(error.data), sessionId });
  }

  asking(sessionId: string, change: 1 | -1): string | undefined {
    const told = this.#of(sessionId);
    told.questions += change;
    // A request that ends after its turn changes no state.
    if (change === -1 && (told.questions > 0 || told.state !== "requires_action")) return undefined;
    return this.#tell(told, change === 1 ? "requires_action" : "running");
  }

  state(sessionId: string, isRunning: boolean): string | undefined {
    const told = this.#of(sessionId);
    told.state = "idle";
    if (!isRunning) return stateUpdate("idle");
    return this.#tell(told, told.questions > 0 ? "requires_action" : "running");
  }

  #turned(told: ToldState, { state, error }: JsonObject): string | undefined {
    if (state === "running") return this.#tell(told, "running");
    told.state = "idle";
    if (state !== "interrupted") return stateUpdate("idle", { stopReason: state });
    const message = typeof error === "string" ? error : "The turn was interrupted";
    return stateUpdate("idle", {
      stopReason: "error",
      error: { code: TRUNKLINE.interrupted.code, message },
    });
  }

  #tell(told: ToldState, state: State): string | undefined {
    if (told.state === state) return undefined;
    told.state = state;
    return stateUpdate(state);
  }

  #of(sessionId: string): ToldState {
    const none = (): ToldState => ({ ids: new MessageIds(), state: "idle", questions: 0 });
    return this.#told.getOrInsertComputed(sessionId, none);
  }
}

function stateUpdate(state: State, more: object = {}): string {
  return JSON.stringify({ sessionUpdate: "state_update", state, ...more });
}

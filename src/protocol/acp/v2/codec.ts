import { unifiedDiff } from "../../../base/text/unified-diff.ts";
import { ACP, TRUNKLINE } from "../../../rpc/codes.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import type { ClientMethod, ShownUpdate } from "../../../session/client/client.ts";
import type { AgentOffer, Codec, Hello, Implementation } from "../codec.ts";
import { type JsonObject, isObject, listOf, objectOf, ours } from "../methods.ts";
import type { InitializeParams } from "../schema.gen.ts";

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
    const update = JSON.parse(text) as Update;
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

type Update = JsonObject & { readonly sessionUpdate: string };

/** Version 2 allows several plans, agents of version 1 have one. */
const PLAN = "plan";
/** Keeps an update below its limit of 100 KB; the patch is optional. */
const LONGEST_PATCH = 48 * 1024;

/** An update in version 2; undefined where it has none. Unknown updates are passed through. */
export function updateInV2(update: Update): JsonObject | undefined {
  switch (update.sessionUpdate) {
    case "tool_call":
    case "tool_call_update":
      return { ...toolCallInV2(update), sessionUpdate: "tool_call_update" };
    case "plan": {
      const { sessionUpdate: _, entries, ...rest } = update;
      const plan = { type: "items", planId: PLAN, entries };
      return { sessionUpdate: "plan_update", plan, ...rest };
    }
    case "available_commands_update":
      return { ...update, availableCommands: commandsInV2(update.availableCommands) };
    case "config_option_update":
      return { ...update, configOptions: optionsInV2(update.configOptions) };
    case "current_mode_update":
      // Version 2 has modes as config options, whose update is sent as well.
      return undefined;
    default:
      return update;
  }
}

/** A tool call in version 2. A patch longer than `longest` is left out. */
export function toolCallInV2(toolCall: JsonObject, longest = LONGEST_PATCH): JsonObject {
  const { content, locations } = toolCall;
  const contents = listOf(content).map((part) => contentInV2(part, longest));
  const { cancellable, isCancelled } = objectOf(objectOf(toolCall._meta).trunkline);
  const isOver = toolCall.status === "completed" || toolCall.status === "failed";
  return {
    ...toolCall,
    ...(cancellable === true ? { capabilities: { cancel: {} } } : {}),
    ...(isOver ? { capabilities: null } : {}),
    ...(isCancelled === true ? { status: "cancelled" } : {}),
    ...(Array.isArray(content) ? { content: contents } : {}),
    ...(Array.isArray(locations) ? { locations: listOf(locations).map(locationInV2) } : {}),
  };
}

/** Version 2 counts lines from 1, so a line 0 is left out. */
function locationInV2({ line, ...location }: JsonObject): JsonObject {
  return typeof line === "number" && line >= 1 ? { ...location, line } : location;
}

function contentInV2(part: JsonObject, longest: number): JsonObject {
  if (part.type !== "diff") return part;
  const { path, oldText, newText, _meta } = part;
  const old = typeof oldText === "string" ? oldText : undefined;
  const { firstLine } = objectOf(objectOf(_meta)["trunkline/excerpt"]);
  const from = typeof firstLine === "number" ? firstLine : 1;
  const text = unifiedDiff(String(path).replace(/^\/+/, ""), old, String(newText), from);
  return {
    type: "diff",
    changes: [{ operation: old === undefined ? "add" : "modify", path, fileType: "text" }],
    ...(text.length > longest ? {} : { patch: { format: "git_patch", text } }),
    ...(_meta === undefined ? {} : { _meta }),
  };
}

/** Config options in version 2, in which the ids of options and groups have other names. */
export function optionsInV2(options: unknown): JsonObject[] {
  return listOf(options).map(({ id, options: choices, ...option }) => ({
    configId: id,
    ...option,
    ...(Array.isArray(choices) ? { options: listOf(choices).map(choiceInV2) } : {}),
  }));
}

function choiceInV2(choice: JsonObject): JsonObject {
  if (!("group" in choice)) return choice;
  const { group, ...rest } = choice;
  return { groupId: group, ...rest };
}

/** Commands in version 2, in which commands and their inputs have a type. */
function commandsInV2(commands: unknown): JsonObject[] {
  return listOf(commands).map(({ input, ...command }) => ({
    type: "command",
    ...command,
    ...(typeof input === "object" && input !== null ? { input: { type: "text", ...input } } : {}),
  }));
}

const CHUNKS: ReadonlySet<string> = new Set([
  "user_message_chunk",
  "agent_message_chunk",
  "agent_thought_chunk",
]);
/** Updates that end a message. Any other update may come in the middle of one. */
const BETWEEN: ReadonlySet<string> = new Set(["tool_call", "plan"]);

/**
 * ACP version 2: every message has an id. Version 1 has none, so messages are counted from the id of
 * the prompt before them. A message then has the same id when the session is replayed.
 */
export class MessageIds {
  #from = "";
  #count = 0;
  #kind: string | undefined;

  put(update: Update, seq: number): Update {
    const { sessionUpdate: kind, messageId } = update;
    if (BETWEEN.has(kind)) this.#kind = undefined;
    if (!CHUNKS.has(kind)) return update;
    if (typeof messageId === "string") {
      if (kind === "user_message_chunk") this.#begin(messageId);
      this.#kind = kind;
      return update;
    }
    // A client that attached during a turn has not seen its prompt.
    if (this.#from === "") this.#begin(`event-${seq}`);
    if (this.#kind !== kind) this.#count++;
    this.#kind = kind;
    return { ...update, messageId: `${this.#from}.${this.#count}` };
  }

  #begin(messageId: string): void {
    if (this.#from === messageId) return;
    this.#from = messageId;
    this.#count = 0;
  }
}

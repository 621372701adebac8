import type { Stop } from "../../base/stop.ts";
import type { SessionUpdate, Turn, TurnClient } from "../../session/agent.ts";
import type { PermissionOutcome, PermissionRequest } from "../../session/permission/permission.ts";
import { SUMMARY } from "../../session/turn/replay.ts";
import { ASIDE } from "../turn/speaker.ts";

export interface NestedTurnOptions {
  readonly turn: Turn;
  /** The call that the subagent works for. */
  readonly toolCallId: string;
  readonly stop: Stop;
  /** Told the title of each call of the subagent. */
  readonly called: (title: string) => void;
}

type Meta = Readonly<Record<string, unknown>>;

/** Whether an update belongs to a subagent, whose calls are not part of the conversation. */
export function isNested(meta: Meta): boolean {
  const { parentToolCallId } = (meta.trunkline ?? {}) as Meta;
  return parentToolCallId !== undefined;
}

/**
 * The turn of a subagent, in the turn that it works for. Its tool calls are shown as nested ones, its
 * questions are asked, and its notices are sent; what it says is for the agent that started it.
 */
export class NestedTurn implements Turn {
  readonly id: string;
  readonly prompt = [];
  readonly principal: Turn["principal"];
  readonly stop: Stop;
  readonly span: Turn["span"];
  readonly _meta?: NonNullable<Turn["_meta"]>;
  readonly #options: NestedTurnOptions;

  constructor(options: NestedTurnOptions) {
    this.#options = options;
    this.id = options.turn.id;
    this.principal = options.turn.principal;
    this.stop = options.stop;
    this.span = options.turn.span;
    if (options.turn._meta !== undefined) this._meta = options.turn._meta;
  }

  get client(): TurnClient {
    return this.#options.turn.client;
  }

  async update(update: SessionUpdate): Promise<void> {
    const { turn, called } = this.#options;
    const { sessionUpdate, title } = update;
    if (sessionUpdate === "tool_call" || sessionUpdate === "tool_call_update") {
      await turn.update({ ...update, _meta: this.#nestedMeta(update._meta) });
      if (sessionUpdate === "tool_call") called(String(title));
    } else if (sessionUpdate === "notice" || isAside(update)) await turn.update(update);
  }

  requestPermission(request: PermissionRequest): Promise<PermissionOutcome> {
    const { toolCall } = request;
    const nested = { ...toolCall, _meta: this.#nestedMeta(toolCall._meta) };
    return this.#options.turn.requestPermission({ ...request, toolCall: nested });
  }

  progressed(): void {
    this.#options.turn.progressed();
  }

  paused(): Promise<void> | undefined {
    return this.#options.turn.paused?.();
  }

  whileWaiting<T>(work: () => Promise<T>): Promise<T> {
    return this.#options.turn.whileWaiting?.(work) ?? work();
  }

  /** ACP has no member for it. Clients that nest calls know it from claude-agent-acp. */
  #nestedMeta(meta: unknown): Meta {
    const { toolCallId } = this.#options;
    return {
      ...(meta as Meta | undefined),
      trunkline: { parentToolCallId: toolCallId },
      claudeCode: { parentToolUseId: toolCallId },
    };
  }
}

/** Text for people. A summary is for the subagent's own conversation. */
function isAside({ _meta }: SessionUpdate): boolean {
  const meta = (_meta ?? {}) as Meta;
  return meta[ASIDE] === true && meta[SUMMARY] === undefined;
}

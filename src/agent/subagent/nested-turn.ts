import type { SessionUpdate, Turn } from "../../session/agent.ts";
import { SUMMARY } from "../../session/turn/replay.ts";
import { ASIDE } from "../turn/speaker.ts";

export interface NestedTurnOptions {
  readonly turn: Turn;
  /** The call that the subagent works for. */
  readonly toolCallId: string;
  readonly signal: AbortSignal;
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
export function nestedTurn({ turn, toolCallId, signal, called }: NestedTurnOptions): Turn {
  /** ACP has no member for it. Clients that nest calls know it from claude-agent-acp. */
  const nested = (meta: unknown): Meta => ({
    ...(meta as Meta | undefined),
    trunkline: {
      ...(meta as { trunkline?: object } | undefined)?.trunkline,
      parentToolCallId: toolCallId,
    },
    claudeCode: { parentToolUseId: toolCallId },
  });
  const { id, principal, span, _meta } = turn;
  return {
    ...{ id, principal, span, signal, prompt: [], ...(_meta === undefined ? {} : { _meta }) },
    get client() {
      return turn.client;
    },
    update: async (update) => {
      const { sessionUpdate, title } = update;
      if (sessionUpdate === "tool_call" || sessionUpdate === "tool_call_update") {
        await turn.update({ ...update, _meta: nested(update._meta) });
        if (sessionUpdate === "tool_call") called(String(title));
      } else if (sessionUpdate === "notice" || isAside(update)) await turn.update(update);
    },
    requestPermission: (request) => {
      const { toolCall } = request;
      const shown = { ...toolCall, _meta: nested(toolCall._meta) };
      return turn.requestPermission({ ...request, toolCall: shown });
    },
    progressed: () => turn.progressed(),
    paused: () => turn.paused?.(),
    whileWaiting: (work) => turn.whileWaiting?.(work) ?? work(),
  };
}

/** Text for people. A summary is for the subagent's own conversation. */
function isAside({ _meta }: SessionUpdate): boolean {
  const meta = (_meta ?? {}) as Meta;
  return meta[ASIDE] === true && meta[SUMMARY] === undefined;
}

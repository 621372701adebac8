import { AgentRig, type AgentRigOptions } from "./agent-rig.ts";
import { FakeLlm, type ScriptedCall } from "./fake-llm.ts";
import type { SampleTurn, SampleTurnOptions } from "./sample-turn.ts";

/** What came of tools that were called. */
export interface Called {
  readonly turn: SampleTurn;
  /** What the model was answered. */
  readonly answers: string[];
  /** The code of each failure that has one. */
  readonly codes: (number | undefined)[];
}

/** Has tools called in one go, in a workspace that `prepare` fills. */
export async function call(
  calls: readonly ScriptedCall[],
  options: AgentRigOptions & {
    readonly prepare?: (rig: AgentRig) => void;
    /** Calls of the answer before. */
    readonly first?: readonly ScriptedCall[];
    readonly turn?: Partial<SampleTurnOptions>;
    readonly check?: (rig: AgentRig, called: Called) => void | Promise<void>;
  } = {},
): Promise<Called> {
  const { prepare, turn: turnOptions, check, first = [], ...parts } = options;
  const before = first.length === 0 ? [] : [{ toolCalls: first }];
  await using llm = await FakeLlm.start([...before, { toolCalls: calls }, { content: "Done." }]);
  await using rig = new AgentRig({ llm, ...parts });
  prepare?.(rig);
  const { turn } = await rig.turn({ prompt: "go", ...turnOptions });
  const messages = llm.requests[before.length + 1]?.messages ?? [];
  const answers = messages
    .filter(({ role }) => role === "tool")
    .slice(first.length)
    .map(({ content }) => String(content));
  const codes = turn.ofKind("tool_call").map(({ toolCallId }) => {
    const last = turn.updates.findLast((update) => update.toolCallId === toolCallId);
    return (last?.rawOutput as { error?: { code?: number } } | undefined)?.error?.code;
  });
  const called = { turn, answers, codes };
  await check?.(rig, called);
  return called;
}

/** A call that reads a file. */
export const read = (path: string, more: object = {}): ScriptedCall => {
  return { name: "read_file", arguments: { path, ...more } };
};

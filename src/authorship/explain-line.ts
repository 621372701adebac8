import type { ContentBlock } from "../session/agent.ts";
import type { SessionEvent } from "../session/event.ts";
import type { LineSource } from "./line-tracer.ts";
import type { WorkHistory } from "./work-history.ts";

/** Why a line is there, as far as its session's log tells. */
export interface LineReason {
  /** What the person asked for. */
  readonly prompt?: string | undefined;
  /** Who allowed the tool call, and how. */
  readonly permission?:
    | { readonly title?: string | undefined; readonly by: string; readonly outcome: string }
    | undefined;
}

/** Reads a session's events for the turn and the call that wrote a line. */
export async function reasonOf(
  { step }: LineSource,
  events: AsyncIterable<{ readonly event: SessionEvent }>,
): Promise<LineReason> {
  let prompt: string | undefined;
  const asked = new Map<string, string | undefined>();
  let permission: LineReason["permission"];
  let isInTurn = false;
  for await (const { event } of events) {
    if (event.kind === "prompt" && event.steers !== true) isInTurn = event.turnId === step.turn;
    if (!isInTurn) continue;
    if (event.kind === "prompt" && event.steers !== true) prompt = textOf(event.prompt);
    if (event.kind === "permission") {
      const { toolCallId, title } = event.request.toolCall as Record<string, unknown>;
      if (toolCallId !== step.call) continue;
      asked.set(event.requestId, typeof title === "string" ? title : undefined);
    }
    if (event.kind === "answer" && asked.has(event.requestId)) {
      const title = asked.get(event.requestId);
      const { outcome } = event;
      const chosen =
        outcome.outcome === "selected" ? (outcome.kind ?? outcome.optionId) : outcome.outcome;
      permission = { title, by: event.by, outcome: chosen };
    }
    if (event.kind === "end") break;
  }
  return { prompt, permission };
}

/** The lines that a step removed where it wrote this one. */
export async function replacedBy(
  history: WorkHistory,
  { at, path, line }: LineSource,
): Promise<readonly string[]> {
  if (at === undefined) return [];
  let isHere = false;
  const removed: string[] = [];
  for (const row of (await history.patch(at, path)).split("\n")) {
    const [, from, count = "1"] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(row) ?? [];
    if (from !== undefined) isHere = line >= Number(from) && line < Number(from) + Number(count);
    else if (isHere && row.startsWith("-")) removed.push(row.slice(1));
  }
  return removed;
}

function textOf(prompt: readonly ContentBlock[]): string {
  return prompt.flatMap(({ text }) => (typeof text === "string" ? [text] : [])).join("\n");
}

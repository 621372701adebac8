import type { ContentBlock } from "../session/agent.ts";
import type { SessionEvent } from "../session/event.ts";
import type { Thread } from "../store/review/review-thread.ts";
import type { Reviews } from "../store/review/reviews.ts";
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
  /** When the turn ran, in milliseconds since 1970, and what its tool calls said. */
  readonly from: number;
  readonly to: number;
  readonly calls: string;
}

/** Reads a session's events for the turn and the call that wrote a line. */
export async function reasonOf(
  { step }: LineSource,
  events: AsyncIterable<{ readonly at: string; readonly event: SessionEvent }>,
): Promise<LineReason> {
  let prompt: string | undefined;
  const asked = new Map<string, string | undefined>();
  let permission: LineReason["permission"];
  let isInTurn = false;
  let [from, to, calls] = [Infinity, Infinity, ""];
  for await (const { at, event } of events) {
    if (event.kind === "prompt" && event.steers !== true) isInTurn = event.turnId === step.turn;
    if (!isInTurn) continue;
    if (event.kind === "prompt" && event.steers !== true) {
      prompt = textOf(event.prompt);
      from = Date.parse(at);
    }
    if (event.kind === "update" && event.update.sessionUpdate.startsWith("tool_call")) {
      calls += JSON.stringify(event.update);
    }
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
    if (event.kind === "end") {
      to = Date.parse(at);
      break;
    }
  }
  return { prompt, permission, from, to, calls };
}

/**
 * The review thread whose answer names the line's commit, or that its turn worked on; one about the line's
 * file before others. Undefined where several may have asked for it.
 */
export async function reviewOf(
  reviews: Reviews,
  gitDir: string,
  file: string,
  commit = "none",
  turn?: LineReason,
): Promise<Thread | undefined> {
  const found = new Map<string, string>();
  for (const event of await reviews.eventsAfter(0, gitDir)) {
    const { thread, path, role, at, proposal, text = "" } = event;
    const named = [text.match(/\b[0-9a-f]{7,64}\b/g) ?? [], proposal?.commit ?? []].flat();
    const isTurns = turn !== undefined && at >= turn.from && at <= turn.to;
    const isAnswer =
      named.some((id) => commit.startsWith(id)) || (isTurns && turn.calls.includes(thread));
    if (role === "agent" && isAnswer) found.set(thread, path);
  }
  const here = [...found].filter(([, path]) => path === file);
  const [only, ...others] = here.length > 0 ? here : found;
  return only === undefined || others.length > 0 ? undefined : await reviews.get(only[0]);
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

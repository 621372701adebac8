import type { StoredEvent } from "../session/store.ts";
import { TrunklineError } from "../base/errors.ts";
import {
  hasScope,
  isLimited,
  mayUseAll,
  mayUseFolder,
  mayUseRepository,
  OWNER,
  type Principal,
} from "../base/principal.ts";
import { maskText } from "../base/text/mask.ts";
import { visibleLine } from "../base/text/visible.ts";
import { repositoryAddresses } from "../git/repository-addresses.ts";
import type { ContentBlock } from "../session/agent.ts";
import type { SessionEvent } from "../session/event.ts";
import type { Thread } from "../store/review/review-thread.ts";
import { Reviews } from "../store/review/reviews.ts";
import { allEvents, maySeeSession, SessionReader } from "../store/session/session-reader.ts";
import { type LineSource, LineTracer } from "./line-tracer.ts";
import type { WorkHistory, WorkStep } from "./work-history.ts";

/** A question about a line of a file, in the work tree or in a commit. */
export interface LineQuestion {
  readonly data: string;
  readonly history: WorkHistory;
  readonly path: string;
  readonly line: number;
  readonly commit?: string | undefined;
  /** The owner when left out. */
  readonly principal?: Principal;
}

export type ShownStep = { readonly [Name in keyof WorkStep]: WorkStep[Name] | undefined };

export type Explanation = Awaited<ReturnType<typeof explainLine>>;

/** Who wrote a line, and why. Leaves out what the principal may not see, such as the session of somebody else. */
export async function explainLine(question: LineQuestion) {
  const { data, history, path, line, commit: version, principal = OWNER } = question;
  const range = { first: line, last: line };
  const [source] = await new LineTracer(history).trace(path, { range, commit: version });
  if (source === undefined) throw new TrunklineError("not-found", `'${path}' has no line ${line}.`);
  using sessions = await SessionReader.open(data);
  using reviews = await Reviews.open(data);
  const found = await sessions.find(source.step.session ?? "");
  const session = found !== undefined && maySeeSession(principal, found) ? found : undefined;
  const reason = session && (await reasonOf(source, allEvents(sessions, session.id)));
  const commit = source.commit ?? (await history.commitOf(path, line, version));
  const { author, committer } = (commit && (await history.commit(commit))) || {};
  const thread = await reviewOf(reviews, history.commonDir, path, commit, reason);
  const maySeeThread = thread !== undefined && (await maySeeReview(principal, thread));
  const { by, turn, call, agent, model, says, session: id } = shownStep(source.step);
  const isSeen = session !== undefined || mayUseAll(principal);
  return {
    text: source.text,
    by,
    session: isSeen ? id : undefined,
    turn: isSeen ? turn : undefined,
    call: isSeen ? call : undefined,
    agent: agent ?? session?.agent,
    model,
    says,
    title: session?.title,
    prompt: reason?.prompt,
    permission: reason?.permission,
    review: maySeeThread ? { id: thread.id, by: thread.by, comment: thread.comment } : undefined,
    // A line that was moved from another file replaced lines of that file.
    replaced: isLimited(principal) && source.path !== path ? [] : await replacedBy(history, source),
    certain: source.certain,
    commit,
    author,
    committer,
  };
}

/** An explanation in words, as names and values, for people and models. Secrets are masked. */
export function toldExplanation(explained: Explanation): (readonly [string, string])[] {
  const { session, turn, title, prompt, permission, review, replaced, commit } = explained;
  const { author, committer, certain } = explained;
  const named = title === undefined ? "" : ` "${visibleLine(title)}"`;
  const allowed =
    permission && `${permission.by} (${permission.outcome}): ${permission.title ?? ""}`;
  const rows: [string, string | undefined][] = [
    ["line", explained.text.trim()],
    ["written by", writer(explained, author)],
    ["session", session && session + named],
    ["turn", turn],
    ["prompt", prompt],
    ["allowed by", allowed],
    ["asked by", review && `${review.by} in ${review.id}: ${review.comment}`],
    ["replaced", replaced.length === 0 ? undefined : replaced.join("\n")],
    ["committed", commit === undefined ? "not yet" : `${commit.slice(0, 12)} ${author}`],
    ["committed by", committer === author ? undefined : committer],
    ["certain", certain ? "yes" : "no: others may have written it, or it changed on its way"],
  ];
  return rows.flatMap(([name, value]) => (value === undefined ? [] : [[name, maskText(value)]]));
}

export function writer(
  { by, agent = "an agent", model, says }: ShownStep,
  author = "a commit",
): string {
  const who = model === undefined ? agent : `${agent} (${model})`;
  if (by === "agent") return visibleLine(says === undefined ? who : `${who}, as ${says} says`);
  if (by === "commit") return visibleLine(author);
  return by === "person" ? "a person" : "unknown";
}

/** The fields of a step that are shown; the others only serve its storage. */
export function shownStep({ by, session, turn, call, agent, model, says }: WorkStep) {
  return { by, session, turn, call, agent, model, says };
}

/** The same rule as for the review tools. */
async function maySeeReview(principal: Principal, { repository }: Thread): Promise<boolean> {
  if (!hasScope(principal, "review") || !mayUseFolder(principal, repository.root)) return false;
  return mayUseRepository(principal, await repositoryAddresses(repository.root));
}

type LineReason = Awaited<ReturnType<typeof reasonOf>>;

/** Why a line is there: reads a session's events for the turn and the call that wrote it. */
async function reasonOf({ step }: LineSource, events: AsyncIterable<StoredEvent>) {
  /** What the person asked for. */
  let prompt: string | undefined;
  const asked = new Map<string, string | undefined>();
  /** Who allowed the tool call, and how. */
  let permission: { title: string | undefined; by: string; outcome: string } | undefined;
  let isInTurn = false;
  /** When the turn ran, in milliseconds since 1970, and what its tool calls said. */
  let [from, to, calls] = [Infinity, Infinity, ""];
  for await (const { at, message } of events) {
    const event = message as SessionEvent;
    if (event.kind === "prompt" && event.steers !== true) isInTurn = event.turnId === step.turn;
    if (!isInTurn) continue;
    if (event.kind === "prompt" && event.steers !== true) {
      prompt = textOf(event.prompt);
      from = at;
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
      const { by, outcome: it } = event;
      const outcome = it.outcome === "selected" ? (it.kind ?? it.optionId) : it.outcome;
      permission = { title, by, outcome };
    }
    if (event.kind === "end") {
      to = at;
      break;
    }
  }
  return { prompt, permission, from, to, calls };
}

/**
 * The review thread whose answer names the line's commit, or that its turn worked on; a thread about the
 * line's file before others. Undefined if several threads fit.
 */
async function reviewOf(
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
async function replacedBy(
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

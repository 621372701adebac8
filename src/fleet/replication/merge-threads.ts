import {
  type DocumentEvent,
  eventKey,
  type ThreadDocument,
} from "../../store/review/thread-document.ts";
import type { ThreadState } from "../../store/review/review-thread.ts";

/**
 * A thread that was changed here and meanwhile also elsewhere: everything that happened to it, in the
 * order of time, and the state that results from that. Where both have claimed it, the claim of `shared`
 * stays, which was first.
 */
export function mergeThreads(local: ThreadDocument, shared: ThreadDocument): ThreadDocument {
  const events = union(shared.events, local.events);
  const hasMore = events.length > shared.events.length;
  const hasLess = events.length > local.events.length;
  const state = hasMore && hasLess ? stateAfter(events) : hasMore ? local.state : shared.state;
  const claims = [shared.claim, local.claim].filter((claim) => claim !== undefined);
  const claim = state === "claimed" ? claims[0] : undefined;
  return {
    ...shared,
    events,
    // Nobody knows whose claim it was.
    state: state === "claimed" && claim === undefined ? "open" : state,
    claim,
    isResolvedThere: local.isResolvedThere ?? shared.isResolvedThere,
  };
}

function union(
  some: readonly DocumentEvent[],
  others: readonly DocumentEvent[],
): readonly DocumentEvent[] {
  const all = new Map<string, DocumentEvent>();
  for (const event of [...some, ...others]) {
    const key = eventKey(event);
    const posted = new Set([...(all.get(key)?.comments ?? []), ...(event.comments ?? [])]);
    const comments = posted.size === 0 ? {} : { comments: [...posted].toSorted() };
    all.set(key, { ...event, ...comments });
  }
  return [...all.values()].toSorted((one, other) => one.at - other.at);
}

/** The state that results from events. Agents change nothing about a thread that a person has resolved. */
function stateAfter(events: readonly DocumentEvent[]): ThreadState {
  let state: ThreadState = "open";
  let before: ThreadState = "open";
  for (const { kind, role } of events) {
    if (kind === "reopened") state = "reopened";
    if (state === "resolved") continue;
    if (kind === "claimed") {
      if (state !== "claimed") before = state;
      state = "claimed";
    } else if (kind === "returned") state = before;
    else if (kind === "proposed") state = "proposed";
    else if (kind === "resolved") state = "resolved";
    else if (kind === "replied" && role === "agent") state = "answered";
    else if (kind === "replied" && (state === "answered" || state === "proposed"))
      state = "reopened";
  }
  return state;
}

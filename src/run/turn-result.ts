import type { Delivery, Target } from "./deliver.ts";
import type { ProposalResult } from "./pull-request.ts";

/** What a session says at the end of a turn. */
export function wordsOn(delivery: Delivery): string {
  switch (delivery.kind) {
    case "unchanged":
      return "Nothing was changed, so nothing was pushed.";
    case "pushed":
      return wordsOnPush(delivery.target);
    case "refused": {
      const files = delivery.problems.map(({ path, why }) => `'${path}': ${why}`).join("; ");
      return `Not pushed. ${files}. Fix that, and the next turn pushes everything.`;
    }
    case "unpushed":
      return `Committed as ${delivery.revision.slice(0, 12)}, but not pushed: ${delivery.why.message} It is tried again; \`trunkline session export --patch\` gives the change meanwhile.`;
  }
}

export function wordsOnPush({ branch, revision }: Target): string {
  return `Pushed ${branch} at ${revision.slice(0, 12)}.`;
}

/** Remote run guide: the fields that a client reads, and additional ones. */
export function resultOf(
  delivery: Delivery,
  target: Target | undefined,
  pullRequest: object | undefined,
): Readonly<Record<string, unknown>> {
  const changes = delivery.kind === "pushed" ? { changes: delivery.changes } : {};
  const request = pullRequest === undefined ? {} : { pullRequest };
  const trunkline = { run: delivery.kind, ...changes, ...request };
  return { ...(target === undefined ? {} : { target }), trunkline };
}

/** What a client is told of a request, in `_meta.trunkline.pullRequest`. */
export function requestOf(proposed: ProposalResult | undefined): object | undefined {
  if (proposed === undefined) return undefined;
  if (proposed.state === "failed") {
    const { why, page } = proposed;
    return { error: why, ...(page === undefined ? {} : { page }) };
  }
  const { url, number } = proposed;
  return { url, number };
}

import type { RequestMode } from "./pull-request.ts";
import type { RemoteRef } from "./remote-ref.ts";

/** What is decided about a run before anything is fetched, and stored with its session. */
export interface RunPlan extends RemoteRef {
  /** The name of its workspace. */
  readonly workspace: string;
  /** The short name of the branch that it works on. */
  readonly target: string;
  /** How the branch is offered for merging. */
  readonly pullRequest?: RequestMode | undefined;
  /** Set-up is tried even if it has just failed. */
  readonly retrySetup?: boolean | undefined;
}

const ID = /^[0-9a-z]{8,40}$/;

export function isPlan(value: unknown): value is RunPlan {
  const { url, revision, workspace, target } = (value ?? {}) as Partial<RunPlan>;
  const isNamed = typeof workspace === "string" && ID.test(workspace);
  return (
    isNamed &&
    target === `agent/${workspace}` &&
    [url, revision].every((it) => typeof it === "string")
  );
}

/** A plan with a workspace and a branch of its own. */
export function newPlan(
  ref: RemoteRef,
  options: Pick<RunPlan, "pullRequest" | "retrySetup"> = {},
): RunPlan {
  const workspace = newId();
  return { ...ref, workspace, target: `agent/${workspace}`, ...options };
}

/** Letters and digits only, because it is part of paths and of a branch name. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(10));
  return Array.from(bytes, (byte) => (byte % 36).toString(36)).join("");
}

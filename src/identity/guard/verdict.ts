/** What is wrong with a commit or a push. */
export interface GuardProblem {
  readonly kind: "identity" | "author" | "committer" | "signer" | "account";
  readonly says: string;
}

export interface GuardVerdict {
  readonly problems: readonly GuardProblem[];
  /** The identity that it needs; undefined if that cannot be decided. */
  readonly identity: string | undefined;
  readonly acting: string | undefined;
  /** What to do about it. */
  readonly next: string;
  /** Information for the person, though nothing is wrong. */
  readonly notes: readonly string[];
}

/** A commit or a push that a hook asks about. */
export interface GuardQuestion {
  readonly hook: GuardHook;
  /** For a push: the remote's name and URL from git. */
  readonly remote?: { readonly name: string; readonly url: string };
  /** For a push: the refs that git writes to the hook's stdin (githooks(5), pre-push). */
  readonly refs?: string;
}

export const GUARD_HOOKS = ["pre-commit", "pre-merge-commit", "pre-push"] as const;
export type GuardHook = (typeof GUARD_HOOKS)[number];

/** What is wrong with a commit or a push. */
export interface GuardProblem {
  readonly kind: "identity" | "author" | "committer" | "signer" | "account";
  readonly says: string;
}

export interface GuardVerdict {
  readonly problems: readonly GuardProblem[];
  /** The identity that it should be made as; nothing where nobody can tell. */
  readonly identity: string | undefined;
  readonly acting: string | undefined;
  /** What to do about it. */
  readonly next: string;
  /** What a person should know though nothing is wrong. */
  readonly notes: readonly string[];
}

/** A commit or a push on its way. */
export interface GuardQuestion {
  readonly hook: GuardHook;
  /** Of a push: the remote's name and address, as git gives them. */
  readonly remote?: { readonly name: string; readonly url: string };
  /** Of a push: what git tells the hook of the refs. */
  readonly refs?: string;
}

export const GUARD_HOOKS = ["pre-commit", "pre-merge-commit", "pre-push"] as const;
export type GuardHook = (typeof GUARD_HOOKS)[number];

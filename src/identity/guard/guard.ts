import { TrunklineError } from "../../base/errors.ts";
import type { Identity } from "../identity.ts";
import { rightIdentity, type RightIdentity, withOnlyRemote } from "../detect/right-identity.ts";
import type { GitContext } from "../detect/git-context.ts";
import { checkAccount } from "./check-account.ts";
import { checkCommit } from "./check-commit.ts";
import { checkPushed } from "./check-push.ts";
import type { GuardProblem, GuardQuestion, GuardVerdict } from "./verdict.ts";

export interface GuardOptions {
  readonly identities: readonly Identity[];
  readonly context: GitContext;
  /** The environment of the hook. */
  readonly env: NodeJS.ProcessEnv;
}

/** Decides whether a commit or a push is allowed. A check that fails to run counts as a problem. */
export async function judge(question: GuardQuestion, options: GuardOptions): Promise<GuardVerdict> {
  const { identities, env } = options;
  const { hook, remote, refs = "" } = question;
  const context =
    remote === undefined
      ? options.context
      : withOnlyRemote(options.context, remote.url, remote.name);
  const right = await rightIdentity(identities, context, env);
  const { identity, acting, why } = right;
  if (identity === undefined) {
    const says = `Cannot decide which identity this repository is for. ${why}`;
    const next = "trunkline identity switch NAME";
    return { problems: [{ kind: "identity", says }], identity: undefined, acting, next, notes: [] };
  }
  const known = { ...right, identity };
  const problems: GuardProblem[] = [];
  try {
    if (hook === "pre-push") {
      problems.push(...actingProblem(known));
      problems.push(...(await checkAccount(identity, remote?.url ?? "", context, env)));
      problems.push(...(await checkPushed(known, identities, context, refs, env)));
    } else problems.push(...(await checkCommit(known, identities, context, env)));
  } catch (error) {
    if (!(error instanceof TrunklineError)) throw error;
    problems.push({ kind: "identity", says: `The check failed: ${error.message}` });
  }
  return {
    problems,
    identity: identity.name,
    acting,
    next: nextFor(problems, identity),
    notes: problems.length === 0 && hook !== "pre-push" ? touchNotes(identity) : [],
  };
}

/** The active identity is not the one that the push needs. */
function actingProblem(right: RightIdentity & { readonly identity: Identity }): GuardProblem[] {
  const { identity, acting, why } = right;
  if (acting === undefined || acting === identity.name) return [];
  const says = `The push is for identity '${identity.name}', but '${acting}' is active. ${why}`;
  return [{ kind: "account", says }];
}

function nextFor(problems: readonly GuardProblem[], { name }: Identity): string {
  const kinds = new Set(problems.map(({ kind }) => kind));
  const isMade = problems.some(({ says }) => /commits? (?:is|are)\b/i.test(says));
  const again = isMade
    ? ", then rewrite the commits: git rebase --exec 'git commit --amend --no-edit --reset-author' BASE"
    : "";
  return kinds.size === 0 ? "" : `trunkline identity switch ${name}${again}`;
}

/** Shown before git waits for the touch. */
function touchNotes({ signing }: Identity): string[] {
  if (signing?.hardware !== true || signing.touchPolicy === "off") return [];
  return ["The signing key is on a hardware device: touch it when it blinks."];
}

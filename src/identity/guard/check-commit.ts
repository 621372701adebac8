import { existsSync } from "node:fs";
import { join } from "node:path";

import { gitSettings } from "../git-settings.ts";
import type { Identity } from "../identity.ts";
import { authorOf } from "../identity.ts";
import type { RightIdentity } from "../detect/right-identity.ts";
import type { GitContext } from "../detect/git-context.ts";
import type { GuardProblem } from "./verdict.ts";

/** Files that exist while git applies commits, which others may have written. */
const OTHERS_WORK = ["CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];

interface Person {
  readonly name: string;
  readonly email: string;
}

/** Checks a commit before it is made. */
export async function checkCommit(
  right: RightIdentity & { readonly identity: Identity },
  identities: readonly Identity[],
  context: GitContext,
  env: NodeJS.ProcessEnv,
): Promise<GuardProblem[]> {
  const { identity } = right;
  const [author, committer] = await Promise.all([
    personOf("GIT_AUTHOR_IDENT", context, env),
    personOf("GIT_COMMITTER_IDENT", context, env),
  ]);
  const gitDir = context.repository?.gitDir ?? "";
  const isOthersWork = OTHERS_WORK.some((name) => existsSync(join(gitDir, name)));
  const isOwn = identities.some((each) => isBy(author, each));
  const mayBeOthers = isOthersWork && !isOwn;
  return [
    ...(mayBeOthers ? [] : personProblem("author", author, right)),
    ...personProblem("committer", committer, right),
    ...signingProblem(identity, context),
  ];
}

/** Asks git. Hooks get the author in variables (githooks(5)). */
async function personOf(
  variable: string,
  { git }: GitContext,
  env: NodeJS.ProcessEnv,
): Promise<Person | undefined> {
  const named = Object.entries(env).filter(([name]) =>
    /^(?:GIT_(?:AUTHOR|COMMITTER)_|EMAIL$)/.test(name),
  );
  // Without an address git invents one, or fails with 128.
  const call = { env: Object.fromEntries(named), accepts: [0, 128] };
  const text = await git.text(["var", variable], call);
  const [, name, email] = /^(.*) <([^<>]*)> \d+ [+-]\d{4}$/s.exec(text) ?? [];
  return name === undefined || email === undefined ? undefined : { name, email };
}

function personProblem(
  kind: "author" | "committer",
  person: Person | undefined,
  { identity, why }: RightIdentity & { readonly identity: Identity },
): GuardProblem[] {
  const wanted = authorOf(identity);
  const is = person === undefined ? "nobody" : `${person.name} <${person.email}>`;
  const says = `The ${kind} is ${is}, but must be ${wanted.name} <${wanted.email}> (identity '${identity.name}'). ${why}`;
  const isRight = person !== undefined && isBy(person, identity);
  // The name is only compared if displayName is configured: most people use their account's name.
  const isNamed = identity.settings.displayName === undefined || person?.name === wanted.name;
  return isRight && isNamed ? [] : [{ kind, says }];
}

function isBy(person: Person | undefined, { email }: Identity): boolean {
  return email !== undefined && person?.email.toLowerCase() === email.toLowerCase();
}

/**
 * Checks that git is configured to sign as the identity does. The push hook checks the signatures
 * themselves.
 */
function signingProblem(identity: Identity, { config }: GitContext): GuardProblem[] {
  const { signing } = identity;
  if (signing === undefined || signing.signCommits === false) return [];
  const wanted = new Map(gitSettings(identity).map(({ key, values }) => [key, values.at(-1)]));
  if (!config.isTrue("commit.gpgSign")) {
    return [
      {
        kind: "signer",
        says: `Identity '${identity.name}' signs commits, but git is configured not to sign.`,
      },
    ];
  }
  const format = config.get("gpg.format") ?? "openpgp";
  const key = config.get("user.signingKey") ?? "";
  if (format === wanted.get("gpg.format") && isSameKey(key, wanted.get("user.signingKey") ?? "")) {
    return [];
  }
  const is = key === "" ? "the default key" : `'${key}'`;
  const says = `Git would sign with ${format} and ${is}, but identity '${identity.name}' signs with ${signing.format} and '${wanted.get("user.signingKey")}'.`;
  return [{ kind: "signer", says }];
}

/** A key can be given as a fingerprint, or as the last digits of one. */
function isSameKey(one: string, other: string): boolean {
  if (one === other) return true;
  const [a, b] = [one, other].map((key) => key.replace(/^0x/i, "").replace(/!$/, "").toUpperCase());
  if (a === undefined || b === undefined) return false;
  const isHex = /^[0-9A-F]{16,}$/.test(a) && /^[0-9A-F]{16,}$/.test(b);
  return isHex && (a.endsWith(b) || b.endsWith(a));
}

import { existsSync } from "node:fs";
import { join } from "node:path";

import { gitSettings } from "../git-settings.ts";
import type { Identity } from "../identity.ts";
import { authorOf } from "../identity.ts";
import type { RightIdentity } from "../detect/right-identity.ts";
import type { GitContext } from "../detect/git-context.ts";
import type { GuardProblem } from "./verdict.ts";

/** Left by git while it puts in commits that others may have made. */
const OTHERS_WORK = ["CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];

interface Person {
  readonly name: string;
  readonly email: string;
}

/** What is wrong with a commit that is about to be made. */
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

/** As git itself has it; hooks are told the author in variables. */
async function personOf(
  variable: string,
  { git }: GitContext,
  env: NodeJS.ProcessEnv,
): Promise<Person | undefined> {
  const named = Object.entries(env).filter(([name]) =>
    /^(?:GIT_(?:AUTHOR|COMMITTER)_|EMAIL$)/.test(name),
  );
  // Without an address git makes one up, or fails; 128 is the latter.
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
  // A name is only held against one that was written down: most go by their account's.
  const isNamed = identity.settings.displayName === undefined || person?.name === wanted.name;
  return isRight && isNamed ? [] : [{ kind, says }];
}

function isBy(person: Person | undefined, { email }: Identity): boolean {
  return email !== undefined && person?.email.toLowerCase() === email.toLowerCase();
}

/** Whether git is set to sign as the identity does. What it does in the end, the push looks at. */
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

/** A key may be named by its fingerprint or only the end of it. */
function isSameKey(one: string, other: string): boolean {
  if (one === other) return true;
  const [a, b] = [one, other].map((key) => key.replace(/^0x/i, "").replace(/!$/, "").toUpperCase());
  if (a === undefined || b === undefined) return false;
  const isHex = /^[0-9A-F]{16,}$/.test(a) && /^[0-9A-F]{16,}$/.test(b);
  return isHex && (a.endsWith(b) || b.endsWith(a));
}

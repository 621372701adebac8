import type { Identity } from "../identity.ts";
import type { RightIdentity } from "../detect/right-identity.ts";
import { signerOf, signingKeysOf } from "../signing/commit-signer.ts";
import { quietRunner } from "../signing/signing-readiness.ts";
import type { GitContext } from "../detect/git-context.ts";
import type { GuardProblem } from "./verdict.ts";

interface PushedCommit {
  readonly id: string;
  readonly author: string;
  readonly committer: string;
}

const SHOWN = 3;

/** Checks the commits of a push that are on no remote yet. */
export async function checkPushed(
  { identity }: RightIdentity & { readonly identity: Identity },
  identities: readonly Identity[],
  context: GitContext,
  refs: string,
  env: NodeJS.ProcessEnv,
): Promise<GuardProblem[]> {
  const commits = await pushedCommits(refs, context);
  const own = identity.email?.toLowerCase();
  const others = new Map<string, string>();
  for (const { email, name } of identities) {
    const address = email?.toLowerCase();
    if (address !== undefined && address !== own) others.set(address, name);
  }
  const byOther = commits.filter(
    ({ author, committer }) => others.has(author) || others.has(committer),
  );
  const byStranger = commits.filter(({ committer }) => committer !== own && !others.has(committer));
  const problems: GuardProblem[] = [];
  if (byOther.length > 0) {
    const says = `${count(byOther)} made as ${namesOf(byOther, others)}, but the push is for '${identity.name}': ${shown(byOther)}.`;
    problems.push({ kind: "author", says });
  }
  if (byStranger.length > 0) {
    const who = [...new Set(byStranger.map(({ committer }) => `<${committer}>`))].slice(0, SHOWN);
    const says = `${count(byStranger)} made by ${who.join(", ")}, which is not one of your identities, and not on any remote: ${shown(byStranger)}.`;
    problems.push({ kind: "committer", says });
  }
  const { signing } = identity;
  if (signing !== undefined && signing.signCommits !== false) {
    const made = commits.filter(({ committer }) => committer === own);
    problems.push(...(await signerProblems(identity, made, context, env)));
  }
  return problems;
}

/** Each line is `<local ref> <local id> <remote ref> <remote id>` (githooks(5)). */
async function pushedCommits(refs: string, { git }: GitContext): Promise<PushedCommit[]> {
  const lines = refs.split("\n").filter((line) => line.trim() !== "");
  const ids = lines.flatMap((line) => {
    const [, local = "", , remote = ""] = line.split(" ");
    if (isNone(local)) return [];
    return isNone(remote) ? [local] : [local, `^${remote}`];
  });
  if (!ids.some((id) => !id.startsWith("^"))) return [];
  const args = ["log", "-z", "--format=%H%n%ae%n%ce", "--ignore-missing"];
  const { stdout } = await git.run([...args, ...ids, "--not", "--remotes", "--"]);
  return stdout
    .toString("utf8")
    .split("\0")
    .filter((record) => record !== "")
    .map((record) => {
      const [id = "", author = "", committer = ""] = record.split("\n");
      return { id, author: author.toLowerCase(), committer: committer.toLowerCase() };
    });
}

function isNone(id: string): boolean {
  return /^0*$/.test(id);
}

async function signerProblems(
  identity: Identity,
  commits: readonly PushedCommit[],
  { git }: GitContext,
  env: NodeJS.ProcessEnv,
): Promise<GuardProblem[]> {
  const { signing } = identity;
  if (signing === undefined || commits.length === 0) return [];
  const ask = quietRunner({ env });
  const keys = await signingKeysOf(identity, signing, ask);
  const unsigned: PushedCommit[] = [];
  const wrong: PushedCommit[] = [];
  for (const commit of commits) {
    const signer = await signerOf(git, commit.id, ask);
    if (signer === "nobody") unsigned.push(commit);
    else if (signer === "unknown" || !signer.keys.some((key) => keys.includes(key))) {
      wrong.push(commit);
    }
  }
  const problems: GuardProblem[] = [];
  if (unsigned.length > 0) {
    const says = `${count(unsigned)} not signed, but identity '${identity.name}' signs commits: ${shown(unsigned)}.`;
    problems.push({ kind: "signer", says });
  }
  if (wrong.length > 0) {
    const says = `${count(wrong)} not signed with the key of '${identity.name}': ${shown(wrong)}.`;
    problems.push({ kind: "signer", says });
  }
  return problems;
}

function count(commits: readonly PushedCommit[]): string {
  return commits.length === 1 ? "One commit is" : `${commits.length} commits are`;
}

function namesOf(commits: readonly PushedCommit[], names: ReadonlyMap<string, string>): string {
  const found = commits.flatMap(({ author, committer }) => [
    names.get(author),
    names.get(committer),
  ]);
  const own = new Set(found.filter((name) => name !== undefined));
  return [...own].map((name) => `'${name}'`).join(" and ");
}

function shown(commits: readonly PushedCommit[]): string {
  const ids = commits.slice(0, SHOWN).map(({ id }) => id.slice(0, 10));
  return ids.join(", ") + (commits.length > SHOWN ? ", …" : "");
}

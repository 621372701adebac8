import { existsSync } from "node:fs";
import { join } from "node:path";

import { hostText } from "../../base/address.ts";
import { TrunklineError } from "../../base/errors.ts";
import { parseRemoteUrl, type RemoteUrl, USUAL_PORTS } from "../../base/remote-url.ts";
import { parseCredential } from "../credential/credential-helper.ts";
import {
  type GitContext,
  isRuleFor,
  placeOf,
  rightIdentity,
  type RightIdentity,
  withOnlyRemote,
} from "../detect/detect.ts";
import type { Author } from "../../git/git.ts";
import { type AgentCommitRule, type CommitPersona, personaOf } from "../agent-commits.ts";
import { gitSettings, identityOfEnvironment, sshCommand } from "../git-settings.ts";
import type { Identity } from "../identity.ts";
import { signerOf, signingKeysOf } from "../signing/commit-signer.ts";
import { runProgram } from "../../git/run-program.ts";
import { quietRunner } from "../signing/signing-readiness.ts";

/** What is wrong with a commit or a push. */
interface GuardProblem {
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

interface GuardOptions {
  readonly identities: readonly Identity[];
  readonly context: GitContext;
  /** The environment of the hook. */
  readonly env: NodeJS.ProcessEnv;
  /** Who agents are: whom a rule for the repository names is allowed too. */
  readonly rules?: readonly AgentCommitRule[] | undefined;
  /** Whether a switch to an identity would change nothing. */
  readonly isSwitched?: (name: string) => Promise<boolean>;
}

/** A commit or a push whose identity is known. */
interface GuardCase extends GuardOptions, RightIdentity {
  readonly identity: Identity;
}

/** Decides whether a commit or a push is allowed. A check that fails to run counts as a problem. */
export async function judge(question: GuardQuestion, options: GuardOptions): Promise<GuardVerdict> {
  const { identities, env, rules, isSwitched = async () => false } = options;
  const { hook, remote, refs = "" } = question;
  const { context: whole } = options;
  const context = remote === undefined ? whole : withOnlyRemote(whole, remote.url, remote.name);
  const right = await rightIdentity(identities, context, env, rules);
  const { identity, acting, why } = right;
  if (identity === undefined) {
    const says = `Cannot decide which identity this repository is for. ${why}`;
    const next = "trunkline identity switch NAME";
    return { problems: [{ kind: "identity", says }], identity: undefined, acting, next, notes: [] };
  }
  const known = { ...options, ...right, identity, context };
  const problems: GuardProblem[] = [];
  try {
    if (hook === "pre-push") {
      problems.push(...actingProblem(known));
      problems.push(...(await checkAccount(known, remote?.url ?? "")));
      problems.push(...(await checkPushed(known, refs)));
    } else problems.push(...(await checkCommit(known)));
  } catch (error) {
    if (!(error instanceof TrunklineError)) throw error;
    problems.push({ kind: "identity", says: `The check failed: ${error.message}` });
  }
  const { name } = identity;
  const isReady = problems.length > 0 && (await isSwitched(name).catch(() => false));
  return {
    problems,
    identity: name,
    acting,
    next: nextFor(problems, known, isReady),
    notes: problems.length === 0 && hook !== "pre-push" ? touchNotes(identity) : [],
  };
}

/** The active identity is not the one that the push needs. */
function actingProblem({ identity, acting, why }: GuardCase): GuardProblem[] {
  if (acting === undefined || acting === identity.name) return [];
  const says = `The push is for identity '${identity.name}', but '${acting}' is active. ${why}`;
  return [{ kind: "account", says }];
}

/** The next step. Leaves out what would change nothing, such as switching a repository again. */
function nextFor(
  problems: readonly GuardProblem[],
  { identity: { name }, acting, env }: GuardCase,
  isSwitched: boolean,
): string {
  if (problems.length === 0) return "";
  const isMade = problems.some(({ says }) => /commits? (?:is|are)\b/i.test(says));
  const isAccount = problems.some(({ kind, says }) => kind === "account" && !says.includes("`"));
  const isOverridden = problems.some(({ kind }) => kind !== "account") && !isMade;
  const of = identityOfEnvironment(env);
  const steps: string[] = [];
  if (!isSwitched) steps.push(`trunkline identity switch ${name}`);
  else if (of !== undefined && of !== name && acting === of) {
    steps.push(`trunkline identity exec ${name} -- git …`);
  } else {
    if (isOverridden) steps.push(WITHOUT);
    if (isAccount) steps.push("unset GIT_SSH_COMMAND and GIT_SSH, and look at the remote's URL");
  }
  if (isMade) steps.push(REWRITE);
  return steps.length > 0 ? steps.join(", then ") : `trunkline identity validate ${name}`;
}

const WITHOUT =
  "leave out --author, -c, and variables such as GIT_AUTHOR_EMAIL, which override the identity";
const REWRITE =
  "rewrite the commits: git rebase --exec 'git commit --amend --no-edit --reset-author' BASE";

/** Who may commit in the repository: whom it belongs to, and whom rules for agents name there. */
function personasOf({ identity, detection, identities, context, env, rules = [] }: GuardCase) {
  const find = (name: string | undefined) => identities.find((each) => each.name === name);
  const owner = find(detection.identity) ?? identity;
  const place = placeOf(context);
  const named = rules
    .filter((rule) => isRuleFor(rule, place, env))
    .flatMap((rule) => {
      const own = rule.identity === undefined ? owner : find(rule.identity);
      return own === undefined ? [] : [personaOf(own, rule, env)];
    });
  return [personaOf(identity), ...(owner === identity ? [] : [personaOf(owner)]), ...named];
}

/** Shown before git waits for the touch. */
function touchNotes({ signing }: Identity): string[] {
  if (signing?.hardware !== true || signing.touchPolicy === "off") return [];
  return ["The signing key is on a hardware device: touch it when it blinks."];
}

const TIMEOUT = 10_000;
const MAX_OUTPUT = 1024 * 1024;

/** Checks which account a push would use, as far as git and ssh can tell. */
export async function checkAccount(known: GuardCase, url: string): Promise<GuardProblem[]> {
  const remote = parseRemoteUrl(url);
  if (remote.problem !== undefined && remote.transport in USUAL_PORTS) {
    return [account(`Cannot tell where the remote's URL leads: ${remote.problem}.`)];
  }
  if (remote.transport === "ssh") return await checkKey(known, remote);
  if (remote.transport === "https" || remote.transport === "http") {
    return await checkCredential(known, remote);
  }
  return [];
}

/** Asks ssh, started as git would start it, which key it would offer first. */
async function checkKey(
  { identity: { sshKey, name }, context: { config, git }, env }: GuardCase,
  { user, host = "", port }: RemoteUrl,
): Promise<GuardProblem[]> {
  if (sshKey === undefined) return [];
  const command = env.GIT_SSH_COMMAND ?? config.get("core.sshCommand") ?? env.GIT_SSH ?? "ssh";
  if (command === sshCommand(sshKey)) return [];
  const where = user === undefined ? host : `${user}@${host}`;
  const args = [...(port === undefined ? [] : ["-p", String(port)]), "-G", where];
  const shell = ["-c", `${command} "$@"`, "ssh", ...args];
  // As git starts it, with the same variables.
  const run = { command: "/bin/sh", args: shell, env: git.env, timeout: TIMEOUT };
  const end = await runProgram({ ...run, maxOutput: MAX_OUTPUT }).catch((error: Error) => error);
  if (end instanceof Error) {
    return [account(`Cannot find out which key ssh would use: ${end.message}.`)];
  }
  const { code } = end;
  const text = end.stdout.toString("utf8");
  const [first = ""] = [...text.matchAll(/^identityfile (.*)$/gm)].map((found) => found[1] ?? "");
  const path = first.replace(/^~(?=\/)/, git.env.HOME ?? "~");
  if (code === 0 && path === sshKey && /^identitiesonly yes$/m.test(text)) return [];
  const offers = path === sshKey ? "the agent's keys before" : `'${first || "no key"}' instead of`;
  return [account(`ssh would offer ${offers} the key of '${name}' (${sshKey}).`)];
}

/** Asks git's credential helpers who they would log in as. */
async function checkCredential(
  { identity: { name, user: wanted }, context: { git }, env }: GuardCase,
  remote: RemoteUrl,
): Promise<GuardProblem[]> {
  const { transport, path, user } = remote;
  if (user !== undefined && wanted !== undefined && user !== wanted) {
    return [account(`The remote's URL has user '${user}', but '${name}' is user '${wanted}'.`)];
  }
  const input = [
    `protocol=${transport}`,
    `host=${hostText(remote)}`,
    `path=${path.replace(/^\//, "")}`,
    ...(user === undefined ? [] : [`username=${user}`]),
    "",
    "",
  ].join("\n");
  // Credential helpers depend on all kinds of variables.
  const own = Object.entries(env).filter(([variable]) => !variable.startsWith("GIT_"));
  // No prompts, neither in the terminal nor in a window.
  const quiet = {
    ...Object.fromEntries(own),
    GIT_ASKPASS: "",
    SSH_ASKPASS: "",
    GCM_INTERACTIVE: "never",
  };
  // This runs the configured helpers; the push that triggered the hook has already run them.
  const { code, stdout, stderr } = await git.run(["credential", "fill"], {
    mode: "write",
    input,
    env: quiet,
    accepts: [0, 1, 128],
    timeout: TIMEOUT,
  });
  if (code !== 0) {
    const said = /^trunkline: (.*)$/m.exec(stderr)?.[1];
    const next = `Store a token with \`trunkline identity token set ${name}\``;
    return [
      account(said ?? `There is no credential for '${name}' at ${hostText(remote)}. ${next}.`),
    ];
  }
  const { username } = parseCredential(stdout.toString("utf8"));
  if (wanted === undefined || username === wanted) return [];
  return [account(`Git would log in as '${username}', but '${name}' is user '${wanted}'.`)];
}

function account(says: string): GuardProblem {
  return { kind: "account", says };
}

/** Files that exist while git applies commits, which others may have written. */
const OTHERS_WORK = ["CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply"];

/** Checks a commit before it is made: it has to be that of one person who may commit. */
export async function checkCommit(known: GuardCase): Promise<GuardProblem[]> {
  const { identities, context } = known;
  const [author, committer] = await Promise.all([
    personOf("GIT_AUTHOR_IDENT", known),
    personOf("GIT_COMMITTER_IDENT", known),
  ]);
  const gitDir = context.repository?.gitDir ?? "";
  const isOthersWork = OTHERS_WORK.some((name) => existsSync(join(gitDir, name)));
  const personas = personasOf(known);
  const isNamed = personas.slice(1).some((each) => isBy(author, each.author));
  const isOwn = identities.some(({ email }) => email !== undefined && isBy(author, { email }));
  const mayBeOthers = isOthersWork && (isNamed || !isOwn);
  const found = personas.map((persona) => [
    ...(mayBeOthers ? [] : personProblem("author", author, persona, known)),
    ...personProblem("committer", committer, persona, known),
    ...signingProblem(persona, context),
  ]);
  return found.some((problems) => problems.length === 0) ? [] : (found[0] ?? []);
}

/** Asks git. Hooks get the author in variables (githooks(5)). */
async function personOf(variable: string, known: GuardCase): Promise<Author | undefined> {
  const { context, env } = known;
  const named = Object.entries(env).filter(([name]) =>
    /^(?:GIT_(?:AUTHOR|COMMITTER)_|EMAIL$)/.test(name),
  );
  // Without an address git invents one, or fails with 128.
  const call = { env: Object.fromEntries(named), accepts: [0, 128] };
  const text = await context.git.text(["var", variable], call);
  const [, name, email] = /^(.*) <([^<>]*)> \d+ [+-]\d{4}$/s.exec(text) ?? [];
  return name === undefined || email === undefined ? undefined : { name, email };
}

function personProblem(
  kind: "author" | "committer",
  person: Author | undefined,
  persona: CommitPersona,
  { why }: GuardCase,
): GuardProblem[] {
  const { identity, [kind]: wanted } = persona;
  const is = person === undefined ? "nobody" : `${person.name} <${person.email}>`;
  const says = `The ${kind} is ${is}, but must be ${wanted.name} <${wanted.email}> (identity '${identity.name}'). ${why}`;
  const isRight = isBy(person, wanted);
  // The name is only compared if displayName is configured: most people use their account's name.
  const isNamed = identity.settings.displayName === undefined || person?.name === wanted.name;
  return isRight && isNamed ? [] : [{ kind, says }];
}

function isBy(person: Author | undefined, { email }: Pick<Author, "email">): boolean {
  return person?.email.toLowerCase() === email.toLowerCase();
}

/**
 * Checks that git is configured to sign as the identity does. The push hook checks the signatures
 * themselves.
 */
function signingProblem({ identity }: CommitPersona, { config }: GitContext): GuardProblem[] {
  const { signing } = identity;
  if (signing === undefined || signing.signCommits === false) return [];
  const wanted = new Map(gitSettings(identity).map(({ key, values }) => [key, values.at(-1)]));
  if (!config.isTrue("commit.gpgSign")) {
    const says = `Identity '${identity.name}' signs commits, but git is configured not to sign.`;
    return [{ kind: "signer", says }];
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
  return /^[0-9A-F]{16,}$/.test(a) && /^[0-9A-F]{16,}$/.test(b) && (a.endsWith(b) || b.endsWith(a));
}

interface PushedCommit {
  readonly id: string;
  readonly author: string;
  readonly committer: string;
}

const SHOWN = 3;

/** Checks the commits of a push that are on no remote yet. */
export async function checkPushed(known: GuardCase, refs: string): Promise<GuardProblem[]> {
  const { identity, identities } = known;
  const commits = await pushedCommits(refs, known.context);
  const personas = personasOf(known);
  const own = new Set(
    personas.flatMap(({ author, committer }) => [author, committer].map(addressOf)),
  );
  const others = new Map<string, string>();
  for (const { email = "", name } of identities) {
    if (!own.has(addressOf({ email }))) others.set(addressOf({ email }), name);
  }
  const byOther = commits.filter(
    ({ author, committer }) => others.has(author) || others.has(committer),
  );
  const byStranger = commits.filter(
    ({ committer }) => !own.has(committer) && !others.has(committer),
  );
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
  for (const [address, those] of Map.groupBy(personas, (each) => addressOf(each.committer))) {
    const made = commits.filter(({ committer }) => committer === address);
    const found = await Promise.all(those.map((each) => signerProblems(each, known, made)));
    if (found.every((each) => each.length > 0)) problems.push(...(found[0] ?? []));
  }
  return problems;
}

function addressOf({ email }: Pick<Author, "email">): string {
  return email.toLowerCase();
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
  return (await git.run([...args, ...ids, "--not", "--remotes", "--"])).stdout
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
  { identity }: CommitPersona,
  { context: { git }, env }: GuardCase,
  commits: readonly PushedCommit[],
): Promise<GuardProblem[]> {
  const { signing } = identity;
  if (signing === undefined || signing.signCommits === false || commits.length === 0) return [];
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

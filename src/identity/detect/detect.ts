import { realpathSync } from "node:fs";
import { dirname } from "node:path";

import { hostText } from "../../base/address.ts";
import {
  parseRemoteUrl,
  remotePattern,
  type RemoteUrl,
  USUAL_PORTS,
} from "../../base/remote-url.ts";
import { maskText } from "../../base/text/mask.ts";
import type { ConfigScope, GitConfig } from "../../git/config/git-config.ts";
import type { Repository } from "../../git/git-folder.ts";
import type { Git } from "../../git/git.ts";
import { type Remote, type RemoteAddress, remotesOf } from "../../git/remotes.ts";
import { discover, openRepository, superproject } from "../../git/repository.ts";
import { IDENTITY_KEY, identityOfEnvironment } from "../git-settings.ts";
import type { AgentCommitRule } from "../agent-commits.ts";
import { expandHome, hostFit, type Identity, type MatchRule } from "../identity.ts";
import { sshOptions } from "./ssh-options.ts";
import { glob } from "../../base/text/glob.ts";
import { realPath } from "../../base/file/path.ts";

/** A folder as git sees it. */
export interface GitContext {
  readonly git: Git;
  readonly repository: Repository | undefined;
  readonly config: GitConfig;
  readonly remotes: readonly Remote[];
}

export async function readGitContext(git: Git): Promise<GitContext> {
  const { repository, config } = await discover(git);
  return { git, repository, config, remotes: remotesOf(config) };
}

/** A folder in a repository. */
export interface RepositoryContext extends GitContext {
  readonly repository: Repository;
}

/** Throws "not-found" where there is no repository. */
export async function readRepositoryContext(git: Git): Promise<RepositoryContext> {
  const context = await readGitContext(git);
  return { ...context, repository: context.repository ?? (await openRepository(git)) };
}

/** Which identity a folder is for. */
export interface Detection {
  /** Undefined if none matches, or several match equally well. */
  readonly identity: string | undefined;
  readonly confidence: Confidence | "none";
  readonly reason: DetectionReason | undefined;
  /** Several identities match equally well. */
  readonly isAmbiguous: boolean;
  /** In words. */
  readonly explanation: string;
  /** The matches of the deciding remote, best first. */
  readonly candidates: readonly IdentityCandidate[];
  /** The remote that decided, or the first one. */
  readonly remote: { readonly name: string; readonly url: string } | undefined;
  /** Further information, such as a remote that matches another identity. */
  readonly notes: readonly string[];
}

/** Finds out which identity a folder is for. Changes nothing and connects to nobody. */
export async function detectIdentity(
  identities: readonly Identity[],
  context: GitContext,
): Promise<Detection> {
  const { remotes, repository, git } = context;
  // The git folder of a submodule lies in `modules` of the containing repository.
  const isInner = repository?.worktree !== undefined && repository.gitDir.includes("/modules/");
  const outer = isInner ? await superproject(git) : undefined;
  if (remotes.length === 0 && outer !== undefined) {
    const detection = await detectIdentity(identities, await readGitContext(git.in(outer)));
    const note = `This submodule has no remote, so the identity of '${outer}', which contains it, is used.`;
    return { ...detection, notes: [note, ...detection.notes] };
  }
  const folders = foldersOf(context);
  const place = { folders, ...(outer === undefined ? {} : { outer }) };
  const found = await Promise.all(
    remotes.map((remote) => candidatesFor(identities, remote, place, git.env)),
  );
  const deciding = found.findIndex((candidates) => candidates.length > 0);
  const remote = remotes[Math.max(0, deciding)];
  const candidates = found[deciding] ?? best(identities, { folders });
  const url = remote && pushAddress(remote);
  return {
    ...decide(candidates, remote, identities),
    candidates,
    remote: remote && { name: remote.name, url: maskText(url?.effective ?? "") },
    notes: [...rewriteNotes(context, remote), ...otherNotes(found, deciding, remotes)],
  };
}

function foldersOf({ repository, git }: GitContext): string[] {
  if (repository === undefined) return [realpathSync(git.folder)];
  const { worktree, gitDir, commonDir } = repository;
  // A linked work tree may be anywhere, so the repository's own folder counts too.
  return [...(worktree === undefined ? [gitDir] : [worktree]), dirname(commonDir)];
}

async function candidatesFor(
  identities: readonly Identity[],
  remote: Remote,
  place: Pick<DetectionTarget, "folders" | "outer">,
  env: NodeJS.ProcessEnv,
): Promise<IdentityCandidate[]> {
  const address = pushAddress(remote);
  const target: DetectionTarget = { ...place, remote: remote.name, ...(address && { address }) };
  const plain = best(identities, target);
  if (address === undefined || (plain[0] !== undefined && plain[0].confidence !== "low")) {
    return plain;
  }
  const resolved = await resolveAlias(address, env);
  return resolved === undefined ? plain : best(identities, { ...target, resolved });
}

/** The push URL counts more than the fetch URL. */
function pushAddress({ push, fetch }: Remote): RemoteAddress | undefined {
  return push[0] ?? fetch[0];
}

/** The real host name and keys behind an SSH alias; undefined if it is not an alias. */
async function resolveAlias(
  address: RemoteAddress,
  env: NodeJS.ProcessEnv,
): Promise<DetectionTarget["resolved"]> {
  const { transport, host } = parseRemoteUrl(address.effective);
  if (transport !== "ssh" || host === undefined) return undefined;
  try {
    const { hostname, identityFiles } = await sshOptions(host, { env });
    return hostname === host ? undefined : { host: hostname, keys: identityFiles };
  } catch {
    // Without ssh there are no aliases.
    return undefined;
  }
}

function best(identities: readonly Identity[], target: DetectionTarget): IdentityCandidate[] {
  return identities
    .flatMap((identity) => matchIdentity(identity, target) ?? [])
    .toSorted((a, b) => b.weight - a.weight);
}

function decide(
  candidates: readonly IdentityCandidate[],
  remote: Remote | undefined,
  identities: readonly Identity[],
): Pick<Detection, "identity" | "confidence" | "reason" | "isAmbiguous" | "explanation"> {
  const [first] = candidates;
  const where = remote === undefined ? "this folder" : `the remote '${remote.name}'`;
  if (first === undefined) {
    const explanation =
      identities.length === 0
        ? "No identities are configured. Add one with `trunkline identity add`."
        : `No identity matches ${where}.`;
    const nothing = { identity: undefined, confidence: "none", reason: undefined } as const;
    return { ...nothing, isAmbiguous: false, explanation };
  }
  const { reason, confidence, weight } = first;
  const equals = candidates.filter((each) => each.weight === weight);
  if (equals.length > 1) {
    const names = equals.map(({ identity }) => `'${identity}'`).join(" and ");
    const explanation = `${names} match ${where} equally well: each ${first.says}. Add a match rule or an organization to one of them.`;
    return { identity: undefined, confidence: "none", reason, isAmbiguous: true, explanation };
  }
  const by = first.remote ? ` (remote '${first.remote}')` : "";
  const explanation = `'${first.identity}' ${first.says}${by}.`;
  return { identity: first.identity, confidence, reason, isAmbiguous: false, explanation };
}

/** A repository's own `insteadOf` can redirect pushes to another host; the user should know. */
function rewriteNotes({ config }: GitContext, remote: Remote | undefined): string[] {
  const address = remote && pushAddress(remote);
  if (address === undefined || address.raw === address.effective) return [];
  const [raw, effective] = [parseRemoteUrl(address.raw), parseRemoteUrl(address.effective)];
  const [from, to] = [hostText(raw), hostText(effective)];
  if (raw.host === undefined || from === to) return [];
  const isLocal = config.entries.some(({ key, scope }) => {
    return (
      /^url\..*\.(?:push)?insteadof$/s.test(key) && (scope === "local" || scope === "worktree")
    );
  });
  if (!isLocal) return [];
  return [`This repository's own configuration redirects '${from}' to '${to}'.`];
}

function otherNotes(
  found: readonly IdentityCandidate[][],
  deciding: number,
  remotes: readonly Remote[],
): string[] {
  const decided = found[deciding]?.[0]?.identity;
  return remotes.flatMap(({ name }, at) => {
    const other = found[at]?.[0];
    if (at === deciding || other === undefined || other.identity === decided) return [];
    return [`The remote '${name}' matches identity '${other.identity}', which ${other.says}.`];
  });
}

/** Which identity a repository needs, and which is active. */
export interface RightIdentity {
  /** Undefined if that cannot be decided. */
  readonly identity: Identity | undefined;
  /** The name of the active identity: the environment's, else the one that was switched to. */
  readonly acting: string | undefined;
  /** The reason, as text. */
  readonly why: string;
  readonly detection: Detection;
}

/**
 * Decides which identity a repository needs. The active one wins a tie, and counts if none matches,
 * since somebody chose it, or if a rule names it for agents there. An identity that matches better than
 * the active one wins.
 */
export async function rightIdentity(
  identities: readonly Identity[],
  context: GitContext,
  env: NodeJS.ProcessEnv,
  rules: readonly AgentCommitRule[] = [],
): Promise<RightIdentity> {
  const detection = await detectIdentity(identities, context);
  const acting = identityOfEnvironment(env) ?? context.config.get(IDENTITY_KEY);
  const { candidates, explanation } = detection;
  const weight = candidates[0]?.weight;
  const best = candidates.filter((each) => each.weight === weight);
  const chosen = best.find((each) => each.identity === acting);
  const find = (name: string | undefined): Identity | undefined => {
    return identities.find((each) => each.name === name);
  };
  const place = placeOf(context);
  const isNamed = rules.some((rule) => rule.identity === acting && isRuleFor(rule, place, env));
  if (acting !== undefined && isNamed) {
    const why = `A rule of \`agentCommits\` names '${acting}' for this repository.`;
    return { identity: find(acting), acting, why, detection };
  }
  if (chosen !== undefined) {
    return { identity: find(acting), acting, why: `'${acting}' ${chosen.says}.`, detection };
  }
  if (best.length === 0 && acting !== undefined) {
    const identity = find(acting);
    const why =
      identity === undefined
        ? `There is no identity '${acting}'.`
        : `'${acting}' is active, and no other identity matches.`;
    return { identity, acting, why, detection };
  }
  return { identity: find(detection.identity), acting, why: explanation, detection };
}

/** The context with this remote as the only one. */
export function withOnlyRemote(context: GitContext, url: string, name = ""): GitContext {
  const address: RemoteAddress = { raw: url, effective: url };
  return { ...context, remotes: [{ name, fetch: [address], push: [address] }] };
}

/** Which identity git uses in a folder, and which it should use. */
export interface IdentityStatus {
  readonly worktree: string | undefined;
  /** Also of a bare repository. */
  readonly gitDir: string | undefined;
  /** The author of commits. Variables override files, as in git. */
  readonly author: { readonly name: string | undefined; readonly email: string | undefined };
  readonly signing: {
    readonly commits: boolean;
    readonly tags: boolean;
    readonly format: string;
    readonly key: string | undefined;
  };
  readonly sshCommand: string | undefined;
  /** The identity that was switched to, and in what scope. */
  readonly switched: { readonly identity: string; readonly scope: ConfigScope } | undefined;
  /** The identity that has the author's address. */
  readonly current: string | undefined;
  readonly detected: Detection;
  /** Whether the current identity is the detected one; undefined if none was detected. */
  readonly isRight: boolean | undefined;
}

export async function identityStatus(
  identities: readonly Identity[],
  context: GitContext,
  env: NodeJS.ProcessEnv,
): Promise<IdentityStatus> {
  const { config, repository } = context;
  const detected = await detectIdentity(identities, context);
  const author = {
    name: env.GIT_AUTHOR_NAME ?? config.get("author.name") ?? config.get("user.name"),
    email: env.GIT_AUTHOR_EMAIL ?? config.get("author.email") ?? config.get("user.email"),
  };
  const mark = config.last(IDENTITY_KEY);
  const ofEnvironment = identityOfEnvironment(env);
  const switched =
    ofEnvironment !== undefined
      ? { identity: ofEnvironment, scope: "command" as const }
      : mark && { identity: mark.value ?? "", scope: mark.scope };
  const current = currentIdentity(identities, author, switched?.identity);
  return {
    worktree: repository?.worktree,
    gitDir: repository?.gitDir,
    author,
    signing: {
      commits: config.isTrue("commit.gpgSign"),
      tags: config.isTrue("tag.gpgSign"),
      format: config.get("gpg.format") ?? "openpgp",
      key: config.get("user.signingKey"),
    },
    sshCommand: env.GIT_SSH_COMMAND ?? config.get("core.sshCommand"),
    switched,
    current,
    detected,
    isRight: detected.identity === undefined ? undefined : detected.identity === current,
  };
}

/** Among several with the same address, the one that was switched to wins. */
function currentIdentity(
  identities: readonly Identity[],
  { name, email }: IdentityStatus["author"],
  switched: string | undefined,
): string | undefined {
  if (email === undefined) return undefined;
  const same = identities.filter((each) => each.email?.toLowerCase() === email.toLowerCase());
  const named = same.filter((each) => each.displayName === name);
  const likely = named.length > 0 ? named : same;
  return (likely.find((each) => each.name === switched) ?? likely[0])?.name;
}

type Confidence = "high" | "medium" | "low";

/** Why an identity matches. */
type DetectionReason = "rule" | "ssh-host" | "ssh-key" | "organization" | "host" | "provider";

/** An identity that matches, and why. */
interface IdentityCandidate {
  readonly identity: string;
  readonly reason: DetectionReason;
  readonly confidence: Confidence;
  /** Completes a sentence that begins with the identity's name. */
  readonly says: string;
  /** The more, the better the fit. */
  readonly weight: number;
  /** The remote that matched, if one did. */
  readonly remote?: string;
}

/** What identities are matched against. */
export interface DetectionTarget {
  /** Folders that the repository is in. */
  readonly folders: readonly string[];
  /** The work tree that has it as a submodule. */
  readonly outer?: string;
  readonly remote?: string;
  readonly address?: RemoteAddress;
  /** What ssh resolves the alias in the URL to. */
  readonly resolved?: { readonly host: string; readonly keys: readonly string[] };
}

const WEIGHT = {
  ...{ rule: 1000, alias: 800, key: 700, organization: 500, host: 300 },
  ...{ otherPort: 200, provider: 100 },
};

/** The best match of an identity, if there is one. */
export function matchIdentity(
  identity: Identity,
  target: DetectionTarget,
): IdentityCandidate | undefined {
  const url = target.address && parseRemoteUrl(target.address.effective);
  return (
    matchRules(identity, target, url) ??
    (url === undefined ? undefined : matchUrl(identity, target, url))
  );
}

function matchRules(
  identity: Identity,
  target: DetectionTarget,
  url: RemoteUrl | undefined,
): IdentityCandidate | undefined {
  let best: IdentityCandidate | undefined;
  for (const rule of identity.match) {
    if (!fits(rule, target, url)) continue;
    const words = Object.entries(rule).map(([key, value]) => `${key} '${value}'`);
    // A rule with more conditions, or a longer path, is more specific.
    const exact = words.length * 100 + Math.min(99, (rule.path?.length ?? 0) / 4);
    const says = `has a rule for ${words.join(" and ")}`;
    const isByPath = words.length === 1 && rule.path !== undefined;
    const { outer, folders } = target;
    // Less than the owner of a submodule's own remote, and more than its host alone.
    const isAround = isByPath && outer !== undefined && isInside(rule.path, outer);
    const weight = exact + (isAround ? WEIGHT.host : WEIGHT.rule);
    const found = candidate(
      identity,
      isByPath ? { folders } : target,
      "rule",
      "high",
      weight,
      says,
    );
    if (best === undefined || found.weight > best.weight) best = found;
  }
  return best;
}

/** What a rule of the configuration is matched against. */
export type DetectionPlace = Pick<DetectionTarget, "folders" | "address">;

/** A repository as rules see it: its folders, and the remote that decides. */
export function placeOf(context: GitContext): DetectionPlace {
  const [remote] = context.remotes;
  const address = remote && pushAddress(remote);
  return { folders: foldersOf(context), ...(address && { address }) };
}

/** Whether a rule for agents is for a repository. */
export function isRuleFor(
  { repositories }: AgentCommitRule,
  place: DetectionPlace,
  env: NodeJS.ProcessEnv,
): boolean {
  return repositories?.some((rule) => ruleFits(rule, place, env)) ?? true;
}

function ruleFits(
  { path, ...rule }: MatchRule,
  place: DetectionPlace,
  env: NodeJS.ProcessEnv,
): boolean {
  return fits(
    { ...rule, ...(path === undefined ? {} : { path: expandHome(path, env) }) },
    place,
    place.address && parseRemoteUrl(place.address.effective),
  );
}

function fits(rule: MatchRule, target: DetectionTarget, url: RemoteUrl | undefined): boolean {
  const { host, owner, path, remote } = rule;
  if (host === undefined && owner === undefined && path === undefined && remote === undefined) {
    return false;
  }
  // A rule may name a port; one without it is for all ports.
  const port = url?.port ?? USUAL_PORTS[url?.transport ?? ""];
  const full = url?.host === undefined ? undefined : hostText({ host: url.host, port });
  const hosts = [url?.host, full, target.resolved?.host].filter((each) => each !== undefined);
  if (host !== undefined && !hosts.some(glob(host.toLowerCase()))) return false;
  if (owner !== undefined && !isOwner(owner, url?.owner)) return false;
  if (path !== undefined && !target.folders.some((folder) => isInside(path, folder))) return false;
  if (remote === undefined) return true;
  const { raw = "", effective = "" } = target.address ?? {};
  const normal = [raw, effective].map((text) => parseRemoteUrl(text).normal);
  return normal.filter((text) => text !== undefined).some(remotePattern(remote));
}

function matchUrl(
  identity: Identity,
  target: DetectionTarget,
  url: RemoteUrl,
): IdentityCandidate | undefined {
  const { provider, sshHost, sshKey, user } = identity;
  const host = target.resolved?.host ?? url.host;
  if (host === undefined) return undefined;
  const found = (
    reason: DetectionReason,
    confidence: Confidence,
    weight: number,
    says: string,
  ): IdentityCandidate => candidate(identity, target, reason, confidence, weight, says);
  if (sshHost !== undefined && sshHost !== identity.host && url.host === sshHost) {
    return found("ssh-host", "high", WEIGHT.alias, `uses the SSH host '${sshHost}'`);
  }
  if (sshKey !== undefined && target.resolved?.keys.includes(sshKey)) {
    return found("ssh-key", "high", WEIGHT.key, `uses the key that ssh has for '${url.host}'`);
  }
  const fit = hostFit(identity.host, { ...url, host });
  if (fit !== undefined) {
    const where = hostText({ host, port: url.transport === "ssh" ? undefined : url.port });
    const owners = [...identity.organizations, ...(user === undefined ? [] : [user])];
    const [owner] = owners
      .filter((each) => isOwner(each, url.owner))
      .toSorted((a, b) => b.length - a.length);
    if (owner !== undefined) {
      const says = `has the owner '${owner}' on ${where}`;
      const weight = fit === "exact" ? WEIGHT.organization : WEIGHT.otherPort;
      return found("organization", "high", weight + Math.min(99, owner.length), says);
    }
    // A URL such as https://alice@github.com/… names the user.
    const isNamed = url.transport !== "ssh" && url.user !== undefined && url.user === user;
    const says = `is for ${where}`;
    const weight = fit === "exact" ? WEIGHT.host : WEIGHT.otherPort;
    return found("host", "medium", weight + (isNamed ? 1 : 0), says);
  }
  if (provider === "other" || !host.split(/[.-]/).includes(provider)) return undefined;
  return found("provider", "low", WEIGHT.provider, `is for ${provider}, which '${host}' may be`);
}

function candidate(
  { name }: Identity,
  { remote }: DetectionTarget,
  reason: DetectionReason,
  confidence: Confidence,
  weight: number,
  says: string,
): IdentityCandidate {
  const by = remote === undefined ? {} : { remote };
  return { identity: name, reason, confidence, says, weight, ...by };
}

/** `group` includes `group/sub`. Forges ignore case. */
function isOwner(pattern: string, owner: string | undefined): boolean {
  if (owner === undefined) return false;
  const [wanted, found] = [pattern.toLowerCase().replace(/\/+$/, ""), owner.toLowerCase()];
  return wanted !== "" && (glob(wanted)(found) || found.startsWith(`${wanted}/`));
}

function isInside(path: string, folder: string): boolean {
  const wanted = path.replace(/\/+$/, "");
  if (wanted.includes("*")) return glob(wanted)(folder) || glob(`${wanted}/*`)(folder);
  // Git reports folders with symbolic links resolved.
  return [wanted, realPath(wanted)].some(
    (each) => folder === each || folder.startsWith(`${each}/`),
  );
}

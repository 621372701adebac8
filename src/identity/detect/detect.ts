import { realpathSync } from "node:fs";
import { dirname } from "node:path";

import { maskText } from "../../base/text/mask.ts";
import { parseRemoteUrl } from "../../base/remote-url.ts";
import type { Remote, RemoteAddress } from "../../git/remotes.ts";
import { superproject } from "../../git/repository.ts";
import { hostText } from "../../base/address.ts";
import type { Identity } from "../identity.ts";
import {
  type Candidate,
  type Confidence,
  matchIdentity,
  type Reason,
  type Target,
} from "./match.ts";
import { sshOptions } from "./ssh-options.ts";
import { readGitContext, type GitContext } from "./git-context.ts";

/** Which identity a folder is for. */
export interface Detection {
  /** Undefined if none matches, or several match equally well. */
  readonly identity: string | undefined;
  readonly confidence: Confidence | "none";
  readonly reason: Reason | undefined;
  /** Several identities match equally well. */
  readonly isAmbiguous: boolean;
  /** In words. */
  readonly explanation: string;
  /** The matches of the deciding remote, best first. */
  readonly candidates: readonly Candidate[];
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
  if (remotes.length === 0 && repository?.worktree !== undefined && isNested(repository.gitDir)) {
    const outer = await superproject(git);
    if (outer !== undefined) {
      const detection = await detectIdentity(identities, await readGitContext(git.in(outer)));
      const note = `This submodule has no remote, so the identity of '${outer}', which contains it, is used.`;
      return { ...detection, notes: [note, ...detection.notes] };
    }
  }
  const folders = foldersOf(context);
  const found = await Promise.all(
    remotes.map((remote) => candidatesFor(identities, remote, folders, git.env)),
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

/** The git folder of a submodule lies in `modules` of the containing repository. */
function isNested(gitDir: string): boolean {
  return /\/modules\//.test(gitDir);
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
  folders: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<Candidate[]> {
  const address = pushAddress(remote);
  const target: Target = { folders, remote: remote.name, ...(address && { address }) };
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
): Promise<Target["resolved"]> {
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

function best(identities: readonly Identity[], target: Target): Candidate[] {
  return identities
    .flatMap((identity) => matchIdentity(identity, target) ?? [])
    .toSorted((a, b) => b.weight - a.weight);
}

function decide(
  candidates: readonly Candidate[],
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
  found: readonly Candidate[][],
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

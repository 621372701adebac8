import { lookup } from "node:dns/promises";
import { isAbsolute } from "node:path";
import { fileURLToPath } from "node:url";

import { hostFits } from "../base/host-pattern.ts";
import { limitRefusal, mayUseFolder, mayUseRepository, type Principal } from "../base/principal.ts";
import { SessionError } from "../session/session-error.ts";
import { TrunklineError } from "../base/errors.ts";
import { isPrivateAddress } from "../base/private-address.ts";
import { parseRemoteUrl, type RemoteUrl } from "../base/remote-url.ts";

/** Remote run guide, "RemoteGitInfo Fields": the repository, revision and branch of a client's work tree. */
export interface RemoteRef {
  readonly url: string;
  readonly branch: string;
  readonly revision: string;
}

/** Which repositories may be worked on. */
export interface RemotePolicy {
  /** Hosts; `*.example.com` matches all subdomains. Empty: every public host. */
  readonly allowHosts: readonly string[];
  /** Whether hosts on private addresses may be reached. */
  readonly allowPrivate: boolean;
  /** Protocols by which repositories may be reached, such as `https` and `ssh`. */
  readonly protocols: readonly string[];
  /** Addresses of submodules of other owners that get credentials, with `*` for any text. */
  readonly submodules?: readonly string[];
  /** The most bytes of Git LFS that are fetched at once. */
  readonly maxLfs?: number;
}

const REVISION = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;
const LONGEST = 2048;

/** Reads `_meta.remote`. Throws "usage" if it is invalid; undefined if there is none. */
export function readRemoteRef(meta: unknown): RemoteRef | undefined {
  const { remote } = (meta ?? {}) as { remote?: unknown };
  if (remote === undefined || remote === null) return undefined;
  const { url, branch, revision } = remote as Partial<Record<keyof RemoteRef, unknown>>;
  if (typeof url !== "string" || url === "" || url.length > LONGEST) {
    throw wrong("url", "the URL of a git repository (SSH or HTTPS)");
  }
  if (typeof revision !== "string" || !REVISION.test(revision)) {
    throw wrong("revision", "a full commit hash in lower case");
  }
  if (branch !== undefined && branch !== null && typeof branch !== "string") {
    throw wrong("branch", "the name of a branch");
  }
  // The guide shows 'refs/head/…' once; the short name is meant.
  const short = (branch ?? "").replace(/^refs\/heads?\//, "");
  if (!isSafeBranch(short)) throw wrong("branch", "the name of a branch");
  return { url, branch: short, revision };
}

/** An address that the policy allows. Git is given its normal form. */
type CheckedUrl = RemoteUrl & { readonly normal: string };

/** Checks the URL against the policy. Throws "untrusted" with the setting that would allow it. */
export function checkRemoteUrl(url: string, policy: RemotePolicy): CheckedUrl {
  const remote = parseRemoteUrl(url);
  const { transport, host, path, normal, problem } = remote;
  const refuse = (why: string): TrunklineError =>
    new TrunklineError("untrusted", `Cannot work on '${shown(url)}': ${why}`);
  if (!policy.protocols.includes(transport)) {
    const allowed = policy.protocols.join(" and ");
    throw refuse(`only ${allowed} addresses are allowed. \`remote.protocols\` changes that.`);
  }
  if (normal === undefined) throw refuse(`${problem}.`);
  if (host === undefined) return { ...remote, normal };
  if (!remote.isScp && /^[a-z+]+:\/\/[^/]*:[^/]*@/i.test(url)) {
    const next = "Remove it, and store it with `trunkline identity token set NAME`";
    throw refuse(`it contains a password, which other users of the server could see. ${next}.`);
  }
  if (path === "") throw refuse("it names no repository.");
  const { allowHosts } = policy;
  if (allowHosts.length > 0 && !allowHosts.some((pattern) => hostFits(pattern, host))) {
    throw refuse(`'${host}' is not in \`remote.allowHosts\`.`);
  }
  return { ...remote, normal };
}

/** Throws if a principal may not use a repository, by the normal form of its address. */
export function refuseRepository(principal: Principal, normal: string): void {
  // A repository on this machine is a folder, too.
  const folder = normal.startsWith("file:") ? fileURLToPath(normal) : normal;
  if (isAbsolute(folder) && !mayUseFolder(principal, folder)) {
    const why = limitRefusal(principal, `the folder '${folder}'`, `--folder ${folder}`);
    throw new SessionError("permission-denied", why);
  }
  if (mayUseRepository(principal, [normal])) return;
  const why = limitRefusal(principal, `the repository '${normal}'`, `--repo ${normal}`);
  throw new SessionError("permission-denied", why);
}

/** Resolves the host and refuses private addresses. Returns the addresses. */
export async function pinAddresses(
  { host = "" }: Pick<RemoteUrl, "host">,
  { allowPrivate }: RemotePolicy,
  resolve: (host: string) => Promise<readonly string[]> = addressesOf,
): Promise<readonly string[]> {
  if (host === "") return [];
  const { isIP } = process.getBuiltinModule("node:net");
  const addresses = isIP(host) === 0 ? await resolve(host) : [host];
  const inside = allowPrivate ? undefined : addresses.find(isPrivateAddress);
  if (inside === undefined) return addresses;
  const why = `'${host}' resolves to ${inside}, which is not a public address. Set \`remote.allowPrivate\` to allow it.`;
  throw new TrunklineError("untrusted", `Cannot work on a repository there: ${why}`);
}

async function addressesOf(host: string): Promise<string[]> {
  const found = await lookup(host, { all: true }).catch((cause: unknown) => {
    const says = `Cannot resolve the host '${host}'. Check the address.`;
    throw new TrunklineError("unavailable", says, { cause });
  });
  return found.map(({ address }) => address);
}

/** Whether a name is valid (git-check-ref-format(1)) and cannot be mistaken for an option. */
function isSafeBranch(name: string): boolean {
  if (name === "") return true;
  const isStrange = /[\p{Cc} ~^:?*[\\]|\.\.|@\{|\/\/|\.lock(?:\/|$)|\.$|\/$/u.test(name);
  return !isStrange && !/(?:^|\/)[.-]/.test(name) && name !== "@" && name.length < 256;
}

/** The URL without a password. */
function shown(url: string): string {
  return url.replace(/\/\/[^@/]*@/, "//").slice(0, 200);
}

function wrong(field: keyof RemoteRef, what: string): TrunklineError {
  return new TrunklineError("usage", `'params._meta.remote.${field}' must be ${what}`);
}

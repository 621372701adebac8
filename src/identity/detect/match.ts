import {
  parseRemoteUrl,
  remotePattern,
  type RemoteUrl,
  USUAL_PORTS,
} from "../../base/remote-url.ts";
import type { RemoteAddress } from "../../git/remotes.ts";
import { glob } from "../../base/text/glob.ts";
import { hostText } from "../../base/address.ts";
import { hostFit, type Identity, type MatchRule } from "../identity.ts";
import { realPath } from "../../base/file/path.ts";

export type Confidence = "high" | "medium" | "low";

/** Why an identity matches. */
export type Reason = "rule" | "ssh-host" | "ssh-key" | "organization" | "host" | "provider";

/** An identity that matches, and why. */
export interface Candidate {
  readonly identity: string;
  readonly reason: Reason;
  readonly confidence: Confidence;
  /** Completes a sentence that begins with the identity's name. */
  readonly says: string;
  /** The more, the better the fit. */
  readonly weight: number;
  /** The remote that matched, if one did. */
  readonly remote?: string;
}

/** What identities are matched against. */
export interface Target {
  /** Folders that the repository is in. */
  readonly folders: readonly string[];
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
export function matchIdentity(identity: Identity, target: Target): Candidate | undefined {
  const url = target.address && parseRemoteUrl(target.address.effective);
  return (
    matchRules(identity, target, url) ??
    (url === undefined ? undefined : matchUrl(identity, target, url))
  );
}

function matchRules(
  identity: Identity,
  target: Target,
  url: RemoteUrl | undefined,
): Candidate | undefined {
  let best: Candidate | undefined;
  for (const rule of identity.match) {
    if (!fits(rule, target, url)) continue;
    const words = Object.entries(rule).map(([key, value]) => `${key} '${value}'`);
    // A rule with more conditions, or a longer path, is more specific.
    const exact = words.length * 100 + Math.min(99, (rule.path?.length ?? 0) / 4);
    const says = `has a rule for ${words.join(" and ")}`;
    const isByPath = words.length === 1 && rule.path !== undefined;
    const by = isByPath ? { folders: target.folders } : target;
    const found = candidate(identity, by, "rule", "high", WEIGHT.rule + exact, says);
    if (best === undefined || found.weight > best.weight) best = found;
  }
  return best;
}

function fits(rule: MatchRule, target: Target, url: RemoteUrl | undefined): boolean {
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

function matchUrl(identity: Identity, target: Target, url: RemoteUrl): Candidate | undefined {
  const { provider, sshHost, sshKey, user } = identity;
  const host = target.resolved?.host ?? url.host;
  if (host === undefined) return undefined;
  const found = (reason: Reason, confidence: Confidence, weight: number, says: string): Candidate =>
    candidate(identity, target, reason, confidence, weight, says);
  if (sshHost !== undefined && sshHost !== identity.host && url.host === sshHost) {
    return found("ssh-host", "high", WEIGHT.alias, `uses the SSH host '${sshHost}'`);
  }
  if (sshKey !== undefined && target.resolved?.keys.includes(sshKey)) {
    const says = `uses the key that ssh has for '${url.host}'`;
    return found("ssh-key", "high", WEIGHT.key, says);
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
  { remote }: Target,
  reason: Reason,
  confidence: Confidence,
  weight: number,
  says: string,
): Candidate {
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

import { readFileSync } from "node:fs";
import { join } from "node:path";

import { attempt } from "../../base/attempt.ts";
import type { IdentitySettings } from "../../identity/identity.ts";

/** An identity of another node, without what belongs to its machine. */
export interface SharedIdentity {
  readonly name: string;
  readonly settings: IdentitySettings;
}

/** The identities of other nodes, by node and name. */
export type SharedIdentities = Readonly<Record<string, SharedIdentity>>;

type Settings = Readonly<Record<string, IdentitySettings>>;

export function sharedIdentitiesPath(data: string): string {
  return join(data, "fleet-identities.json");
}

/** Empty where this is no node of a fleet. */
export function readSharedIdentities(data: string): SharedIdentities {
  const path = sharedIdentitiesPath(data);
  // A damaged file is written again.
  return attempt(() => JSON.parse(readFileSync(path, "utf8")) as SharedIdentities, {});
}

/** The configured identities, with what other nodes know of them, and those of other nodes alone. */
export function withSharedIdentities(data: string, own: Settings): Settings {
  const all: Record<string, IdentitySettings> = { ...own };
  // In the order of the nodes' ids, so that all nodes have the same.
  const theirs = Object.entries(readSharedIdentities(data)).toSorted(([a], [b]) =>
    a < b ? -1 : 1,
  );
  for (const [, { name, settings }] of theirs) {
    // With another provider it is somebody else of the same name.
    if (all[name] !== undefined && all[name].provider !== settings.provider) continue;
    // A token goes to the identity's host, which only the node that has the token may name.
    const { host: _, ...parts } = settings;
    const mine = all[name];
    all[name] =
      mine === undefined ? { ...settings, tokenSource: { kind: "none" } } : { ...parts, ...mine };
  }
  return all;
}

/**
 * The parts of an identity that are not secret and are the same on every machine: no key, no token, no path.
 */
export function sharedParts(settings: IdentitySettings): IdentitySettings {
  const { provider, host, user, email, displayName, organizations, match, signing } = settings;
  const rules = match?.filter(({ path }) => path === undefined);
  const { format, signCommits, signTags } = signing ?? {};
  const parts = {
    provider,
    host,
    user,
    email,
    displayName,
    organizations,
    match: rules?.length === 0 ? undefined : rules,
    signing: format && { format, signCommits, signTags },
  };
  return JSON.parse(JSON.stringify(parts)) as IdentitySettings;
}

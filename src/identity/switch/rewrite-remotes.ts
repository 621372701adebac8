import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import type { ConfigEdit } from "../../git/config/edit-config.ts";
import { parseRemoteUrl, throughSshHost } from "../../base/remote-url.ts";
import { remotesOf } from "../../git/remotes.ts";
import type { Repository } from "../../git/git-folder.ts";
import { isFrom } from "./config-target.ts";
import { hostFit } from "../host.ts";
import type { Identity } from "../identity.ts";
import type { GitContext } from "../detect/git-context.ts";

export interface RemoteEdits {
  readonly edits: readonly ConfigEdit[];
  readonly notes: readonly string[];
}

/**
 * Rewrites the remotes on an identity's host to use its SSH host, keeping form and port. Remotes on
 * other hosts stay.
 */
export function rewriteRemotes(
  identity: Identity,
  identities: readonly Identity[],
  repository: Repository,
  context: GitContext,
): RemoteEdits {
  const { name, host, sshHost } = identity;
  if (sshHost === undefined) {
    const next = `Set one with \`trunkline identity edit ${name} --ssh-host ALIAS\``;
    const says = `Cannot rewrite remotes: identity '${name}' has no SSH host. ${next}`;
    throw new TrunklineError("config", says);
  }
  const file = { path: join(repository.commonDir, "config"), scope: "local" } as const;
  const notes: string[] = [];
  // SSH aliases of other identities for the same host count as this host.
  const aliases = new Set(aliasesOf(identities, host));
  const effectives = new Map(
    remotesOf(context.config).flatMap(({ fetch, push }) => {
      return [...push, ...fetch].map(({ raw, effective }) => [raw, effective] as const);
    }),
  );
  const rewritten = (raw: string): string => {
    const effective = effectives.get(raw) ?? raw;
    const url = parseRemoteUrl(effective);
    const isIts = hostFit(host, url) === "exact" || aliases.has(url.host ?? "");
    if (!isIts) return raw;
    return throughSshHost(effective, sshHost) ?? raw;
  };
  const edits = context.remotes.flatMap((remote) =>
    ["url", "pushurl"].flatMap((what) => {
      const key = `remote.${remote.name}.${what}`;
      const entries = context.config.all(key);
      const own = entries.filter((entry) => isFrom(entry, file, context));
      if (own.length < entries.length) {
        notes.push(`${key} is set outside this repository's configuration and was not changed.`);
      }
      const before = own.map(({ value }) => value ?? "");
      const values = before.map(rewritten);
      return values.every((value, at) => value === before[at]) ? [] : [{ key, values }];
    }),
  );
  return { edits, notes };
}

function aliasesOf(identities: readonly Identity[], host: string | undefined): string[] {
  return identities.flatMap((each) => {
    return each.host === host && each.sshHost !== undefined ? [each.sshHost] : [];
  });
}

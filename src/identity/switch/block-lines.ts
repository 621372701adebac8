import { join } from "node:path";

import { splitHost } from "../host.ts";
import type { Identity } from "../identity.ts";

/** Whether an identity needs an entry in the SSH configuration. */
export function needsSshHost({ sshHost, host, sshKey }: Identity): boolean {
  return sshHost !== undefined && host !== undefined && sshHost !== host && sshKey !== undefined;
}

/** The SSH configuration for the hosts of identities. */
export function sshBlockLines(identities: readonly Identity[]): string[] {
  const hosts = identities
    .filter(needsSshHost)
    .flatMap(({ sshHost, host, sshKey = "" }) => [
      `Host ${sshHost}`,
      `    HostName ${splitHost(host ?? "").name}`,
      "    User git",
      `    IdentityFile ${sshQuote(sshKey)}`,
      "    IdentitiesOnly yes",
    ]);
  // Otherwise the lines after the block would belong to the last host only (ssh_config(5)).
  return hosts.length === 0 ? [] : [...hosts, "Match all"];
}

function sshQuote(path: string): string {
  return `"${path.replaceAll("%", "%%").replaceAll(/["\\]/g, "\\$&")}"`;
}

/** The `includeIf` conditions for an identity (git-config(1), "Conditional includes"). */
export function includeConditions({ match, sshHost, host }: Identity): string[] {
  const folders = match.flatMap((rule) => {
    const isFolderOnly = Object.keys(rule).length === 1 && rule.path !== undefined;
    return isFolderOnly ? [`gitdir:${(rule.path ?? "").replace(/\/+$/, "")}/`] : [];
  });
  if (sshHost === undefined || sshHost === host) return folders;
  // `alias:**` would never match: `**` has to follow a slash.
  return [...folders, `hasconfig:remote.*.url:git@${sshHost}:*/**`];
}

/** Where the settings of an identity are kept for git to include. */
export function includedFile(folder: string, { name }: Identity): string {
  return join(folder, `${encodeURIComponent(name)}.gitconfig`);
}

/** The git configuration that includes the settings of identities. */
export function gitBlockLines(
  includes: readonly { readonly condition: string; readonly file: string }[],
): string[] {
  return includes.flatMap(({ condition, file }) => [
    `[includeIf "${condition.replaceAll(/["\\]/g, "\\$&")}"]`,
    `\tpath = "${file.replaceAll(/["\\]/g, "\\$&")}"`,
  ]);
}

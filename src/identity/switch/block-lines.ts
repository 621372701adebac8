import { join } from "node:path";

import type { Identity } from "../identity.ts";

/** An identity whose ssh host has to be written down for ssh to know it. */
export function needsSshHost({ sshHost, host, sshKey }: Identity): boolean {
  return sshHost !== undefined && host !== undefined && sshHost !== host && sshKey !== undefined;
}

/** What ssh has to know of the ssh hosts of identities. */
export function sshBlockLines(identities: readonly Identity[]): string[] {
  const hosts = identities
    .filter(needsSshHost)
    .flatMap(({ sshHost, host, sshKey = "" }) => [
      `Host ${sshHost}`,
      `    HostName ${host}`,
      "    User git",
      `    IdentityFile ${sshQuote(sshKey)}`,
      "    IdentitiesOnly yes",
    ]);
  // What follows the block may be meant for every host, and would else be the last one's.
  return hosts.length === 0 ? [] : [...hosts, "Match all"];
}

function sshQuote(path: string): string {
  return `"${path.replaceAll("%", "%%").replaceAll(/["\\]/g, "\\$&")}"`;
}

/** When git is to act as an identity by itself, as `includeIf` says it. */
export function includeConditions({ match, sshHost, host }: Identity): string[] {
  const folders = match.flatMap((rule) => {
    const isFolderOnly = Object.keys(rule).length === 1 && rule.path !== undefined;
    return isFolderOnly ? [`gitdir:${(rule.path ?? "").replace(/\/+$/, "")}/`] : [];
  });
  if (sshHost === undefined || sshHost === host) return folders;
  // A pattern `alias:**` would never fit: `**` has to follow a slash.
  return [...folders, `hasconfig:remote.*.url:git@${sshHost}:*/**`];
}

/** Where the settings of an identity are kept for git to include. */
export function includedFile(folder: string, { name }: Identity): string {
  return join(folder, `${encodeURIComponent(name)}.gitconfig`);
}

/** What git has to know to include the settings of identities. */
export function gitBlockLines(
  includes: readonly { readonly condition: string; readonly file: string }[],
): string[] {
  return includes.flatMap(({ condition, file }) => [
    `[includeIf "${condition.replaceAll(/["\\]/g, "\\$&")}"]`,
    `\tpath = "${file.replaceAll(/["\\]/g, "\\$&")}"`,
  ]);
}

import { globSync, readFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";

import { sshConfigFile } from "../detect/ssh-options.ts";

const DEEPEST = 8;
const MOST_HOSTS = 50;

/** The host names in the user's SSH configuration, without patterns, with `Include` followed. */
export function sshHosts(env: NodeJS.ProcessEnv): string[] {
  const file = sshConfigFile(env);
  const hosts = new Set<string>();
  collect(file, dirname(file), dirname(dirname(file)), hosts, 0);
  return [...hosts].slice(0, MOST_HOSTS);
}

function collect(
  file: string,
  folder: string,
  home: string,
  hosts: Set<string>,
  depth: number,
): void {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return;
  }
  for (const line of text.split(/\r?\n/)) {
    const [, keyword = "", rest = ""] = /^\s*(\w+)(?:\s*=\s*|\s+)(.*?)\s*$/.exec(line) ?? [];
    const words = [...rest.matchAll(/"([^"]*)"|(\S+)/g)].map((found) => found[1] ?? found[2] ?? "");
    if (/^host$/i.test(keyword)) {
      for (const word of words) if (/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/.test(word)) hosts.add(word);
    }
    if (!/^include$/i.test(keyword) || depth >= DEEPEST) continue;
    for (const word of words) {
      const path = word.replace(/^~(?=\/)/, home);
      const pattern = isAbsolute(path) ? path : join(folder, path);
      for (const found of globSync(pattern)) collect(found, folder, home, hosts, depth + 1);
    }
  }
}

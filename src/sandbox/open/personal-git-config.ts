import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";

import { homeOf } from "../../base/process/environment.ts";
import { GitConfig } from "../../git/config/git-config.ts";
import { Git } from "../../git/git.ts";
import { expandPath } from "../../config/locations.ts";

/** Settings that tell no secret, and that commits and merges should have in a sandbox, too. */
const LISTED = [
  /^user\.(?:name|email|signingkey|useconfigonly)$/,
  /^(?:commit|tag)\.gpgsign$/,
  /^gpg\.format$/,
  /^core\.(?:autocrlf|eol|safecrlf|quotepath|whitespace|abbrev|commentchar|ignorecase)$/,
  /^(?:init\.defaultbranch|pull\.(?:rebase|ff)|push\.(?:default|autosetupremote)|fetch\.prune)$/,
  /^(?:merge|diff|rebase|rerere|branch|color|column|log|status|safe)\.[a-z]+$/,
  /^filter\.lfs\.[a-z]+$/,
];

const MOST_IGNORED = 1024 * 1024;

/**
 * Files of /etc that give git in a sandbox the settings of the person and the machine that are on the list,
 * and what the person ignores in every repository.
 */
export async function personalGitConfig(
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<{ gitconfig: string; gitignore: string }> {
  const read = await GitConfig.read(new Git(folder, { env })).catch(() => new GitConfig([]));
  // Not the repository's own, which could name any file.
  const config = new GitConfig(
    read.entries.filter(({ scope }) => scope === "system" || scope === "global"),
  );
  const lines = config.entries
    .filter(({ key }) => LISTED.some((listed) => listed.test(key)))
    .map(({ key, value }) => settingText(key, value ?? "true"));
  const usual = join(env.XDG_CONFIG_HOME || join(homeOf(env), ".config"), "git", "ignore");
  const ignored = expandPath(config.get("core.excludesFile") ?? usual, homeOf(env), env);
  const excludes = settingText("core.excludesfile", "/etc/gitignore");
  return { gitconfig: [...lines, excludes].join(""), gitignore: textOf(ignored) };
}

function settingText(key: string, value: string): string {
  const [first, last] = [key.indexOf("."), key.lastIndexOf(".")];
  const middle = first === last ? "" : ` ${quoted(key.slice(first + 1, last))}`;
  return `[${key.slice(0, first)}${middle}]\n\t${key.slice(last + 1)} = ${quoted(value)}\n`;
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, "\\$&").replaceAll("\n", "\\n").replaceAll("\t", "\\t")}"`;
}

function textOf(file: string): string {
  const found = statSync(file, { throwIfNoEntry: false });
  return found?.isFile() === true && found.size <= MOST_IGNORED ? readFileSync(file, "utf8") : "";
}

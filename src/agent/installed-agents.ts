import { readFileSync } from "node:fs";
import { dirname, isAbsolute, join } from "node:path";

import { attempt } from "../base/attempt.ts";
import { isExecutable } from "../base/file/path.ts";
import { absolutePath } from "../base/process/environment.ts";
import { shellWord } from "../base/text/shell-word.ts";

/** A coding agent of somebody else that is on this machine. */
export interface InstalledAgent {
  readonly name: string;
  /** What was found of it. */
  readonly path: string;
  /** What starts it as an agent that speaks ACP. */
  readonly command: string;
  readonly args: readonly string[];
}

/** With arguments, the program itself speaks ACP; the adapter is one that does it for it. */
const KNOWN = [
  {
    name: "claude",
    adapter: { program: "claude-agent-acp", package: "@agentclientprotocol/claude-agent-acp" },
  },
  { name: "codex", adapter: { program: "codex-acp", package: "@agentclientprotocol/codex-acp" } },
  { name: "gemini", args: ["--acp"] },
  { name: "goose", args: ["acp"] },
  { name: "opencode", args: ["acp"] },
];

/**
 * The well-known agents that are in `PATH` or where npm installs programs, without those that are
 * configured. Nothing is started.
 */
export function installedAgents(
  env: NodeJS.ProcessEnv,
  configured: readonly string[] = [],
): InstalledAgent[] {
  const folders = [...absolutePath(env.PATH).split(":"), ...npmFolders(env)];
  const find = (program: string): string | undefined =>
    folders.map((folder) => join(folder, program)).find(isExecutable);
  return KNOWN.flatMap(({ name, args = [], adapter }): InstalledAgent[] => {
    if (configured.includes(name)) return [];
    const own = find(name);
    const speaks = adapter === undefined ? own : find(adapter.program);
    const path = speaks ?? own;
    if (path === undefined) return [];
    if (speaks !== undefined) return [{ name, path, command: speaks, args }];
    return [{ name, path, command: "npx", args: ["-y", adapter?.package ?? name] }];
  });
}

/** The command that adds an agent to the configuration. */
export function addCommand({ name, command, args }: InstalledAgent): string {
  const words = [command, ...args].map((word) => shellWord(word)).join(" ");
  return `trunkline agent add ${name} --default -- ${words}`;
}

/** Where npm puts global programs, which need not be in `PATH`. */
function npmFolders(env: NodeJS.ProcessEnv): string[] {
  const { HOME = "", NPM_CONFIG_PREFIX, npm_config_prefix: lower } = env;
  const homes = isAbsolute(HOME) ? [join(HOME, ".npm-global"), join(HOME, ".local")] : [];
  const prefixes = [NPM_CONFIG_PREFIX ?? lower, prefixIn(HOME), ...homes];
  const folders = prefixes.flatMap((prefix) => (prefix ? [join(prefix, "bin")] : []));
  return [...folders.filter((folder) => isAbsolute(folder)), dirname(process.execPath)];
}

function prefixIn(home: string): string | undefined {
  const text = attempt(() => readFileSync(join(home, ".npmrc"), "utf8")) ?? "";
  const [, prefix] = /^\s*prefix\s*=\s*(.+?)\s*$/m.exec(text) ?? [];
  return prefix?.replace(/^(?:~|\$\{HOME\})(?=\/)/, home);
}

import { resolve } from "node:path";

import { shellWord } from "../../base/text/shell-word.ts";
import type { Arguments } from "../../tool/tool.ts";
import type { AgentTool } from "../tools/agent-tool.ts";

/** A tool as hooks see it, which were written for Claude Code. */
export interface HookedCall {
  /** The name that they are told, then others that a matcher may have. */
  readonly names: readonly [string, ...string[]];
  readonly input: Arguments;
  /** The input only describes what is done, so that a hook cannot change it. */
  readonly isFixed: boolean;
}

interface KnownTool {
  readonly names: readonly [string, ...string[]];
  /** What its arguments are called there. */
  readonly members?: Readonly<Record<string, string>>;
  /** The command line that does the same, where Claude Code has no tool of its own for it. */
  readonly line?: (args: Arguments) => string;
}

const FILE = { path: "file_path" };

/** The tools of Claude Code that have the same purpose. */
const TOOLS: Readonly<Record<string, KnownTool>> = {
  run_command: {
    names: ["Bash"],
    members: { timeout_ms: "timeout", background: "run_in_background" },
  },
  // Whoever guards commits guards command lines.
  git_commit: {
    names: ["Bash"],
    line: ({ message, paths }) => {
      const names = Array.isArray(paths) && paths.length > 0 ? ["--", ...(paths as string[])] : [];
      return ["git", "commit", "-m", String(message), ...names].map(shellWord).join(" ");
    },
  },
  command_output: { names: ["BashOutput"] },
  stop_command: { names: ["KillShell"] },
  read_file: { names: ["Read"], members: { ...FILE, line: "offset" } },
  edit_file: { names: ["Edit"], members: FILE },
  multi_edit: { names: ["MultiEdit", "Edit"], members: FILE },
  write_file: { names: ["Write"], members: FILE },
  // Whoever guards edits means these, too.
  apply_patch: { names: ["apply_patch", "Edit", "MultiEdit", "Write"] },
  list_files: { names: ["LS", "Glob"] },
  search_files: { names: ["Grep"] },
  web_fetch: { names: ["WebFetch"] },
  load_skill: { names: ["Skill"] },
  task: { names: ["Task", "Agent"] },
  update_plan: { names: ["TodoWrite"] },
  ask_person: { names: ["AskUserQuestion"] },
  submit_plan: { names: ["ExitPlanMode"] },
};

const PATCHED = /^\*\*\* (?:(?:Add|Delete|Update) File|Move to): (.+)$/gm;

/** A call with the names of Claude Code, and absolute paths of files. */
export function asHooksSee(tool: AgentTool, args: Arguments, cwd: string): HookedCall {
  const { name, hooked } = tool;
  if (hooked !== undefined) {
    const isFixed = hooked.input !== undefined;
    return { names: [hooked.name, name], input: hooked.input ?? args, isFixed };
  }
  const { names, members = {}, line } = knownTool(name);
  if (line !== undefined) {
    return { names: [...names, name], input: { command: line(args) }, isFixed: true };
  }
  const input: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(args)) {
    const member = Object.hasOwn(members, key) ? (members[key] as string) : key;
    const isFile = member === "file_path" && typeof value === "string";
    input[member] = isFile ? resolve(cwd, value) : value;
  }
  if (name === "apply_patch") {
    const paths = Array.from(String(args.input).matchAll(PATCHED), ([, path = ""]) =>
      resolve(cwd, path.trim()),
    );
    input.file_paths = paths;
    if (paths.length === 1) [input.file_path] = paths;
  }
  return { names: [...names, name], input, isFixed: false };
}

/** The arguments of a call that a hook has changed. */
export function fromHooks({ name }: AgentTool, input: Arguments): Arguments {
  const { members = {} } = knownTool(name);
  const ours = new Map(Object.entries(members).map(([own, theirs]) => [theirs, own]));
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => [ours.get(key) ?? key, value]),
  );
}

function knownTool(name: string): KnownTool {
  return Object.hasOwn(TOOLS, name) ? (TOOLS[name] as KnownTool) : { names: [name] };
}

import { TrunklineError } from "../../base/errors.ts";
import { commitPrograms, type CommitPrograms } from "../../git/commit-programs.ts";
import { Git, type GitMode } from "../../git/git.ts";
import { workspaceGit } from "../files/workspace-git.ts";
import { type AgentTool, cutText, inputOf, textContent, type ToolWork } from "./agent-tool.ts";
import { inCodeBlock } from "./tool-runner.ts";

const MOST_CHARACTERS = 40_000;
const COMMIT_TIMEOUT = 300_000;

const PATHS = { type: "array", items: { type: "string" }, description: "Only these; default all." };

export const gitStatus: AgentTool = {
  name: "git_status",
  description: "Shows the branch and which files have changed.",
  inputSchema: inputOf({}, []),
  example: {},
  kind: "read",
  need: "nothing",
  title: () => "git status",
  call: async (_, work) => {
    const names = await shownIn(work);
    return { text: await git(work, ["status", "--short", "--branch", "--", ...names]) };
  },
};

export const gitDiff: AgentTool = {
  name: "git_diff",
  description: "Shows how files differ from the index, or the index from the last commit.",
  inputSchema: inputOf(
    {
      staged: { type: "boolean", description: "What is staged, instead of what is not." },
      base: { type: "string", description: "A commit or branch to compare with." },
      paths: PATHS,
    },
    [],
  ),
  example: { base: "main", paths: ["src"] },
  kind: "read",
  need: "nothing",
  title: ({ base }) => `git diff${base === undefined ? "" : ` ${base as string}`}`,
  async call(args, work) {
    const { staged, base, paths = [] } = args as GitToolInput;
    // `HEAD:path` is a file, also one outside of the workspace.
    if (base?.includes(":") === true) {
      const why = "name a commit or a branch, and files as 'paths'";
      throw new TrunklineError("usage", `Cannot compare with '${base}': ${why}`);
    }
    const names = await shownIn(work, paths);
    const options = ["--no-color", ...(staged === true ? ["--cached"] : [])];
    const against = base === undefined ? [] : ["--end-of-options", base];
    const text = await git(work, ["diff", ...options, ...against, "--", ...names]);
    return { text: text === "" ? "(No difference.)" : text };
  },
};

export const gitLog: AgentTool = {
  name: "git_log",
  description: "Shows the last commits.",
  inputSchema: inputOf(
    {
      limit: { type: "integer", minimum: 1, maximum: 200, description: "Default 20." },
      paths: PATHS,
    },
    [],
  ),
  example: { limit: 5, paths: ["src/parser.ts"] },
  kind: "read",
  need: "nothing",
  title: () => "git log",
  async call(args, work) {
    const { limit = 20, paths = [] } = args as GitToolInput;
    const names = await shownIn(work, paths);
    const format = "--format=%h %ad %an: %s";
    return {
      text: await git(work, ["log", `-n${limit}`, "--date=short", format, "--", ...names]),
    };
  },
};

export const gitCommit: AgentTool = {
  name: "git_commit",
  description: "Commits the named files, or with none what is staged.",
  inputSchema: inputOf(
    { message: { type: "string", minLength: 1 }, paths: { ...PATHS, description: "Files." } },
    ["message"],
  ),
  example: { message: "Accept empty lines in the parser", paths: ["src/parser.ts"] },
  kind: "execute",
  need: "write",
  timeout: COMMIT_TIMEOUT,
  title: ({ message }) => titleOf(String(message)),
  async call(args, work) {
    const { message = "", paths = [] } = args as GitToolInput;
    const names = await namesOf(work, paths);
    const shown = names.map((name) => work.files.workspace.nameOf(name));
    await allowCommit(work, { title: titleOf(message), message, names: shown });
    const said = await commit(work, message, names);
    const top = await git(work, ["rev-parse", "--show-toplevel"]);
    return { text: `Repository: ${top}\n${said}` };
  },
};

function titleOf(message: string): string {
  return `git commit: ${message.split("\n")[0]}`;
}

interface GitToolInput {
  readonly staged?: boolean;
  readonly base?: string;
  readonly limit?: number;
  readonly message?: string;
  readonly paths?: readonly string[];
}

/** Commits what is staged, or the named files as they are now. Returns git's output. */
export async function commit(
  work: Pick<ToolWork, "files" | "signal" | "actsAs" | "sessionId">,
  message: string,
  names: readonly string[] = [],
): Promise<string> {
  // On stdin, since other users can see arguments.
  const args = ["commit", "--file=-", ...(names.length > 0 ? ["--", ...literal(names)] : [])];
  const { workspace } = work.files;
  if (names.length > 0) await git(work, ["add", "--", ...literal(names)], "write");
  await refuseNewSubmodules(work, names);
  if (await isNothingStaged(work, names)) {
    throw new TrunklineError("usage", "Cannot commit: nothing is staged that differs from HEAD");
  }
  const identity = await work.actsAs?.(workspace.cwd, work.sessionId);
  try {
    const { stdout } = await workspaceGit(workspace, args, {
      env: identity?.environment(new Git(workspace.cwd).env) ?? {},
      input: message,
      mode: "write",
      timeout: COMMIT_TIMEOUT,
      signal: work.signal,
    });
    return stdout.toString("utf8").trim();
  } catch (error) {
    if (!(error instanceof TrunklineError) || !/ended with \d+$/.test(error.message)) throw error;
    const says = `${error.message} and gave no reason. A hook of the repository may have refused it`;
    throw new TrunklineError(error.code, says, { cause: error });
  }
}

/**
 * Git makes a submodule of a repository that lies in a folder, and the person's git then runs the programs
 * that its settings name. A command may have made it. What we have added is taken out of the index again.
 */
async function refuseNewSubmodules(
  work: Pick<ToolWork, "files" | "signal">,
  added: readonly string[],
): Promise<void> {
  const { workspace } = work.files;
  const raw = ["diff", "--cached", "--raw", "-z", "--no-renames", "--", ...literal(added)];
  const { stdout } = await workspaceGit(workspace, raw, { signal: work.signal });
  // git-diff(1): `:OLDMODE NEWMODE …`, then the path.
  const made = [...stdout.toString("utf8").matchAll(/:(\d+) 160000 [^\0]*\0([^\0]+)\0/g)].flatMap(
    ([, old, path = ""]) => (old === "160000" ? [] : [path]),
  );
  if (made.length === 0) return;
  if (added.length > 0)
    await git(work, ["reset", "--quiet", "--no-refresh", "--", ...literal(added)], "files");
  const names = made.map((path) => `'${path}'`).join(", ");
  const next = "Have git ignore it, or add it yourself with `git submodule add`";
  const says = `it would make a submodule of ${names}, a repository of its own. ${next}`;
  throw new TrunklineError("untrusted", `Cannot commit: ${says}`);
}

/** Checked first, since `git commit` would first run git in every submodule. */
async function isNothingStaged(
  { files, signal }: Pick<ToolWork, "files" | "signal">,
  names: readonly string[],
): Promise<boolean> {
  const args = ["diff", "--cached", "--quiet", "--", ...literal(names)];
  const { code } = await workspaceGit(files.workspace, args, { accepts: [0, 1], signal });
  if (code !== 0) return false;
  const merging = ["rev-parse", "--quiet", "--verify", "MERGE_HEAD"];
  return (await workspaceGit(files.workspace, merging, { accepts: [0, 1], signal })).code !== 0;
}

export async function git(
  work: Pick<ToolWork, "files" | "signal">,
  args: readonly string[],
  mode: GitMode = "read",
): Promise<string> {
  const call = { mode, signal: work.signal };
  const { stdout } = await workspaceGit(work.files.workspace, args, call);
  return cutText(stdout.toString("utf8").replace(/\r?\n$/, ""), MOST_CHARACTERS);
}

/** Names as git takes them: `[id].ts` is a file, and no pattern that others match. */
export function literal(names: readonly string[]): string[] {
  return names.map((name) => `:(literal)${name}`);
}

/** Checked absolute paths, which git cannot take for options. */
async function namesOf(work: ToolWork, paths: readonly string[]): Promise<string[]> {
  const workspace = await Promise.all(paths.map((path) => work.files.workspace.find(path)));
  return workspace.map(({ path }) => path);
}

/** Checked paths to show. Without any: the workspace, if it is only a part of the repository, else all. */
async function shownIn(work: ToolWork, paths: readonly string[] = []): Promise<string[]> {
  if (paths.length > 0) return literal(await namesOf(work, paths));
  const isPart = (await git(work, ["rev-parse", "--show-prefix"])) !== "";
  return isPart ? literal([work.files.workspace.cwd]) : [];
}

const EVERY_COMMIT = "every git commit, of any files and with any message";

interface Commit {
  readonly title: string;
  readonly message: string;
  /** Files to commit; empty for what is staged. */
  readonly names: readonly string[];
}

/**
 * Waits for consent to a commit: its files, its message, and the programs that git runs for it (hooks,
 * filters, signing). An "always" answer applies as long as these programs stay the same.
 */
export async function allowCommit(
  work: Pick<ToolWork, "allow" | "files">,
  { title, message, names }: Commit,
): Promise<void> {
  const git = new Git(work.files.workspace.cwd);
  const found = await commitPrograms(git);
  const runs = programsText(found);
  const files =
    names.length === 0 ? "What is staged." : names.map((name) => `- ${name}`).join("\n");
  const commands = found.programs.map(({ name, command }) => `- ${name}: ${command}`);
  const text = [message, "", files, ...(runs === "" ? [] : ["", `It ${runs}:`, ...commands])];
  await work.allow({
    subject: { action: "commit", programs: runs === "" ? "" : found.digest },
    covers: runs === "" ? EVERY_COMMIT : `${EVERY_COMMIT}, as long as it ${runs}`,
    title: runs === "" ? title : `${title} (${runs})`,
    content: [textContent(inCodeBlock(text.join("\n")))],
  });
  // The programs may have changed while the person decided.
  if ((await commitPrograms(git)).digest === found.digest) return;
  const says = "the hooks or filters of the repository have changed since you were asked";
  throw new TrunklineError("conflict", `Cannot commit: ${says}. Try again`);
}

/** "runs the repository's hook pre-commit, filter x". */
function programsText({ programs }: CommitPrograms): string {
  const names = new Set(programs.map(({ name }) => name));
  return names.size === 0 ? "" : `runs ${[...names].join(", ")} of this repository`;
}

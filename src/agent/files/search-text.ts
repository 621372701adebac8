import { absolutePath } from "../../base/process/environment.ts";
import { OwnedChild } from "../../base/process/child-process.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Stop } from "../../base/stop.ts";
import { Git } from "../../git/git.ts";
import { harmlessVariables } from "../command-environment.ts";
import { readBounded } from "./read-bounded.ts";

export interface TextSearch {
  readonly folder: string;
  readonly pattern: string;
  /** The pattern is plain text. */
  readonly literal?: boolean;
  readonly ignoreCase?: boolean;
  /** Only files whose names match. */
  readonly glob?: string | undefined;
  readonly stop: Stop;
  /** Path of ripgrep; null for git. By default `rg` in PATH is used. */
  readonly ripgrep?: string | null;
}

export interface Hit {
  /** Relative to the searched folder. */
  readonly path: string;
  readonly line: number;
  readonly text: string;
}

const MOST_BYTES = 1024 * 1024;
const LONGEST = 300;

let hasRipgrep: Promise<boolean> | undefined;

/** Finds lines in files that git does not ignore, with ripgrep where it is installed, else with git. */
export async function searchText(search: TextSearch): Promise<Hit[]> {
  const program = search.ripgrep === undefined ? await usualRipgrep() : search.ripgrep;
  const output = program === null ? await gitGrep(search) : await ripgrep(program, search);
  return output.split("\n").flatMap(hitOf);
}

async function usualRipgrep(): Promise<string | null> {
  hasRipgrep ??= runs("rg");
  return (await hasRipgrep) ? "rg" : null;
}

async function ripgrep(command: string, search: TextSearch): Promise<string> {
  const args = ["--no-config", "--null", "--line-number", "--no-heading", "--color=never"];
  args.push(
    "--hidden",
    "--glob=!.git",
    "--max-columns=1000",
    "--max-columns-preview",
    "--sort=path",
  );
  if (search.literal === true) args.push("--fixed-strings");
  if (search.ignoreCase === true) args.push("--ignore-case");
  if (search.glob !== undefined) args.push(`--glob=${search.glob}`);
  args.push("--regexp", search.pattern, "./");
  const env = ripgrepVariables();
  const said: string[] = [];
  const child = await OwnedChild.start({
    command,
    args,
    env,
    cwd: search.folder,
    stderr: (line) => said.push(line),
  });
  child.stdin.end();
  const { text, exit } = await readBounded(child, { stop: search.stop, most: MOST_BYTES });
  if (exit === 2 && text === "") throw unfit(search.pattern, said.join(" "));
  return text;
}

function ripgrepVariables(): NodeJS.ProcessEnv {
  const variables = harmlessVariables(process.env);
  return { ...variables, PATH: absolutePath(variables.PATH) };
}

async function gitGrep(search: TextSearch): Promise<string> {
  const args = ["grep", "--no-index", "--exclude-standard", "--null", "-n", "-I", "--no-color"];
  args.push(search.literal === true ? "-F" : "-E");
  if (search.ignoreCase === true) args.push("-i");
  args.push(
    "-e",
    search.pattern,
    "--",
    search.glob === undefined ? "." : `:(glob)${spread(search.glob)}`,
  );
  const git = new Git(search.folder, { maxOutput: 64 * MOST_BYTES });
  const call = { accepts: [0, 1], timeout: 20_000, stop: search.stop };
  const { stdout } = await git.run(args, call).catch((error: unknown) => {
    const isWords = error instanceof TrunklineError && error.code === "unavailable";
    throw isWords ? unfit(search.pattern, error.message) : error;
  });
  return stdout.toString("utf8").slice(0, MOST_BYTES);
}

function spread(glob: string): string {
  return glob.includes("/") ? glob : `**/${glob}`;
}

/** `path NUL line NUL text` of git, `path NUL line : text` of ripgrep. */
function hitOf(line: string): Hit[] {
  const [, path, number, text] = /^([^\0]+)\0(\d+)[\0:](.*)$/s.exec(line) ?? [];
  if (path === undefined || number === undefined || text === undefined) return [];
  const shown = text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
  return [{ path: path.replace(/^\.\//, ""), line: Number(number), text: shown.trimEnd() }];
}

function unfit(pattern: string, why: string): TrunklineError {
  return new TrunklineError("usage", `Cannot search for '${pattern}': ${why}`);
}

async function runs(command: string): Promise<boolean> {
  try {
    const child = await OwnedChild.start({
      command,
      args: ["--version"],
      env: ripgrepVariables(),
    });
    child.stdin.end();
    child.stdout.resume();
    return (await child.exit) === 0;
  } catch {
    return false;
  }
}

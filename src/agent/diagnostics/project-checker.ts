import { existsSync } from "node:fs";
import { extname, isAbsolute, join, normalize, relative } from "node:path";
import { stripVTControlCharacters } from "node:util";

import { isExecutable } from "../../base/file/path.ts";
import { readRegularFile } from "../../base/file/read-regular-file.ts";
import { absolutePath } from "../../base/process/environment.ts";
import { shellWord } from "../../base/text/shell-word.ts";
import type { Diagnostic } from "./language-server.ts";

/** A command line that checks a project, for files whose language has no server here. */
export interface ProjectChecker {
  /** Its line, with the files that changed where it takes them. */
  readonly line: (files: readonly string[]) => string;
}

interface CheckedLanguage {
  readonly extensions: readonly string[];
  /** Undefined if the project has no checker. */
  readonly find: (project: string) => ProjectChecker | undefined;
}

const LANGUAGES: readonly CheckedLanguage[] = [
  {
    extensions: [".rs"],
    // What rust-analyzer runs to find errors, too. Without a network nothing can be fetched.
    find: (project) =>
      has(project, "Cargo.toml") && inPath("cargo") !== undefined
        ? whole("cargo check --offline --quiet --message-format short")
        : undefined,
  },
  {
    extensions: [".go"],
    find: (project) =>
      has(project, "go.mod") && inPath("go") !== undefined
        ? whole("GOPROXY=off GOFLAGS=-mod=readonly go vet ./...")
        : undefined,
  },
  {
    extensions: [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte"],
    find: (project) => {
      const script = scriptOf(project);
      if (script !== undefined) return whole(`npm run --silent ${script}`);
      const tsc = "node_modules/.bin/tsc";
      const isTyped = has(project, "tsconfig.json") && isExecutable(join(project, tsc));
      return isTyped ? whole(`${tsc} --noEmit --pretty false`) : undefined;
    },
  },
  {
    extensions: [".py"],
    find: (project) => {
      const mypy = ownProgram(project, "mypy");
      if (mypy !== undefined && configures(project, "mypy", ["mypy.ini", ".mypy.ini"])) {
        return { line: (files) => [mypy, "--no-pretty", ...files].map(shellWord).join(" ") };
      }
      const ruff = ownProgram(project, "ruff");
      if (ruff !== undefined && configures(project, "ruff", ["ruff.toml", ".ruff.toml"])) {
        const words = [ruff, "check", "--no-fix", "--output-format", "concise"];
        return { line: (files) => [...words, ...files].map(shellWord).join(" ") };
      }
      const python = ownProgram(project, "python3");
      if (python === undefined) return undefined;
      // The grammar alone: nothing is run, and nothing written.
      const check = (file: string): string =>
        `${shellWord(python)} -I -m ast ${shellWord(file)} > /dev/null`;
      return { line: (files) => files.map(check).join("; ") };
    },
  },
];

/** The checker of a project for a file; undefined where there is none. */
export function checkerFor(name: string, project: string): ProjectChecker | undefined {
  const extension = extname(name);
  return LANGUAGES.find(({ extensions }) => extensions.includes(extension))?.find(project);
}

function whole(line: string): ProjectChecker {
  return { line: () => line };
}

function has(project: string, name: string): boolean {
  return existsSync(join(project, name));
}

function inPath(program: string): string | undefined {
  const folders = absolutePath(process.env.PATH).split(":");
  return folders.map((folder) => join(folder, program)).find(isExecutable);
}

/** A program of the project's virtual environment, or of `PATH`. */
function ownProgram(project: string, program: string): string | undefined {
  const own = [".venv", "venv"].map((folder) => join(folder, "bin", program));
  return own.find((path) => isExecutable(join(project, path))) ?? inPath(program);
}

/** The scripts that check a project, the most exact first. */
const SCRIPTS = ["typecheck", "types", "check", "lint"];
/** A check that changes files, or does not end, is none. */
const CHANGES = /\b(?:fix|write|format|watch)\b| -w\b/;

function scriptOf(project: string): string | undefined {
  try {
    const { scripts = {} } = JSON.parse(textOf(project, "package.json")) as {
      readonly scripts?: Readonly<Record<string, unknown>>;
    };
    return SCRIPTS.find((name) => {
      const script = Object.hasOwn(scripts, name) ? scripts[name] : undefined;
      return typeof script === "string" && !CHANGES.test(script);
    });
  } catch {
    return undefined;
  }
}

/** Whether a project configures a tool of Python: in a file of its own, or in one of all tools. */
function configures(project: string, tool: string, files: readonly string[]): boolean {
  if (files.some((name) => has(project, name))) return true;
  const table = new RegExp(`^\\[(?:tool\\.)?${tool}\\b`, "m");
  return ["pyproject.toml", "setup.cfg"].some((name) => table.test(textOf(project, name)));
}

/** Bytes of a manifest that is read. */
const MOST_MANIFEST = 1024 * 1024;

function textOf(project: string, name: string): string {
  try {
    const bytes = readRegularFile(join(project, name), { most: MOST_MANIFEST, inside: [project] });
    return bytes?.toString("utf8") ?? "";
  } catch {
    return "";
  }
}

/** An error of a file, by its path in the project. */
export interface FileError extends Diagnostic {
  readonly file: string;
}

/** `a.rs:1:2: error`, as most compilers and linters say it. */
const COLONS = /^(?:vet: )?([^\s:()][^:()]{0,300}\.\w{1,10}):(\d{1,7})(?::(\d{1,7}))?:? (.+)$/;
/** `a.ts(1,2): error`, as tsc does. */
const BRACKETS = /^([^\s()][^()]{0,300}\.\w{1,10})\((\d{1,7}),(\d{1,7})\): (.+)$/;
/** `  1:2  error  …`, below a line with the path, as ESLint does. */
const BELOW = /^ {1,8}(\d{1,7}):(\d{1,7}) {1,8}error {1,8}(.+)$/;
const PATH_ALONE = /^(\/?[\w@.][^\s:]{0,300}\.\w{1,10})$/;
/** `File "a.py", line 1`, before `SyntaxError: …`, as Python does. */
const PYTHON = /^ *File "([^"]{1,300})", line (\d{1,7})$/;
const RAISED = /^\w{1,40}Error: (.+)$/;

const NO_ERROR = /^(?:warning|note|help|info)\b/i;
const MOST_MESSAGE = 400;

/** The errors that a checker has printed. What it prints is not trusted. */
export function errorsIn(output: string, project: string): readonly FileError[] {
  const errors: FileError[] = [];
  let file = "";
  let line = "0";
  const add = (path: string, at: string, column: string | undefined, message: string): void => {
    const inside = normalize(isAbsolute(path) ? relative(project, path) : path);
    if (inside.startsWith("..") || NO_ERROR.test(message)) return;
    const text = message.replace(/^error: /, "").slice(0, MOST_MESSAGE);
    errors.push({
      ...{ file: inside, line: Number(at), column: Number(column ?? 1), code: "", message: text },
    });
  };
  for (const each of stripVTControlCharacters(output).split(/\r?\n/)) {
    const told = COLONS.exec(each) ?? BRACKETS.exec(each);
    const below = BELOW.exec(each);
    const raised = RAISED.exec(each);
    if (told !== null) add(told[1] ?? "", told[2] ?? "", told[3], told[4] ?? "");
    else if (below !== null && file !== "") add(file, below[1] ?? "", below[2], below[3] ?? "");
    else if (raised !== null && line !== "0") add(file, line, undefined, each);
    [, file = file, line = line] = PYTHON.exec(each) ?? [];
    [, file = file] = PATH_ALONE.exec(each) ?? [];
  }
  return errors;
}

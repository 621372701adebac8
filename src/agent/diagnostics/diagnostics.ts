import { existsSync } from "node:fs";
import { dirname, extname, isAbsolute, join, normalize, relative } from "node:path";
import { stripVTControlCharacters } from "node:util";

import { attempt } from "../../base/attempt.ts";
import { atMost } from "../../base/abort.ts";
import { isObject, objectIn } from "../../base/check.ts";
import { isExecutable, isInside, realPath } from "../../base/file/path.ts";
import { readRegularFile } from "../../base/file/read-regular-file.ts";
import { background, currentSession } from "../../base/background.ts";
import { TaskQueue } from "../../base/limit/task-queue.ts";
import type { Log } from "../../base/log.ts";
import { absolutePath } from "../../base/process/environment.ts";
import { shellWord } from "../../base/text/shell-word.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { harmlessVariables, loginPath } from "../command-environment.ts";
import type { CommandSandbox } from "../files/command-sandbox.ts";
import {
  CallRejectedError,
  type EditCheck,
  textContent,
  type ToolWork,
} from "../tools/agent-tool.ts";
import { inCodeBlock } from "../tools/tool-runner.ts";
import { runLine } from "../files/run-line.ts";
import { type Diagnostic, LanguageServer } from "./language-server.ts";

interface KnownServer {
  readonly program: string;
  readonly args: readonly string[];
  /** Extensions of files, and the names of their languages. */
  readonly languages: Readonly<Record<string, string>>;
  /** Whether it can be used, by the package.json of its package. */
  readonly fits?: (manifest: string) => boolean;
  /** See `LanguageServer.start`. */
  readonly isUnnumbered?: true;
  /** It knows only a part of the errors by itself: the project's own checker comes first. */
  readonly isPartial?: true;
}

const SCRIPTS = { ".ts": "typescript", ".mts": "typescript", ".cts": "typescript" };
const TYPESCRIPT = { ...SCRIPTS, ".tsx": "typescriptreact" };
const C = { ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".hpp": "cpp" };

/** The first that is there is used. */
const SERVERS: readonly KnownServer[] = [
  { program: "tsc", args: ["--lsp", "--stdio"], languages: TYPESCRIPT, fits: isServer },
  {
    program: "typescript-language-server",
    args: ["--stdio"],
    languages: TYPESCRIPT,
    isUnnumbered: true,
  },
  { program: "pyright-langserver", args: ["--stdio"], languages: { ".py": "python" } },
  { program: "gopls", args: [], languages: { ".go": "go" } },
  { program: "clangd", args: [], languages: C },
  // It gets the compiler's errors from `cargo check`, and only for files that an editor has saved.
  { program: "rust-analyzer", args: [], languages: { ".rs": "rust" }, isPartial: true },
];

/** Bytes of a manifest that is read. */
const MOST_MANIFEST = 1024 * 1024;

/** TypeScript's compiler is a language server since version 7. */
function isServer(manifest: string): boolean {
  const bytes = attempt(() => readRegularFile(manifest, { most: MOST_MANIFEST }));
  const { name, version } = objectIn(bytes?.toString("utf8") ?? "") ?? {};
  // The manifest is untrusted: its version may be an object that cannot become text.
  return attempt(() => name === "typescript" && Number.parseInt(String(version), 10) >= 7, false);
}

/** Milliseconds that a call waits; what comes later goes with the next answer. */
const PATIENCE = 2_500;
/** Milliseconds for a server to start and to read the project. */
const LONGEST = 60_000;
/** Milliseconds without an edit after which servers are ended. */
const IDLE = 600_000;
const MOST_SHOWN = 10;

type ChangedFile = Parameters<EditCheck["after"]>[0][number];

/** The last run of a checker, and one that has not begun yet. */
interface CheckerRuns {
  /** The errors of the last run; undefined before the first. */
  known: readonly FileError[] | undefined;
  /** The changed files for the next run, which one call waits for. */
  next: Set<string> | undefined;
}

/**
 * What the agent broke: errors that were not there before, by language servers that the project or the
 * machine has, or else by the project's own checker. They read and may run the project's code, so they run
 * only in the sandbox, without a network, after the person said yes; without a sandbox there are none.
 */
export class Diagnostics implements EditCheck, AsyncDisposable {
  readonly #cwd: string;
  readonly #sandbox: CommandSandbox | undefined;
  readonly #log: Log;
  readonly #patience: number;
  readonly #servers = new Map<KnownServer, Promise<LanguageServer | undefined>>();
  /** Servers that could not be started; they are not tried again. */
  readonly #failed = new Set<KnownServer>();
  /** By their command lines. */
  readonly #checkers = new Map<string, CheckerRuns>();
  /** What the person said about command lines. */
  readonly #answers = new Map<string, boolean>();
  readonly #stopper = new AbortController();
  readonly #checks = new TaskQueue();
  readonly #runs = new TaskQueue();
  #idle: NodeJS.Timeout | undefined;

  constructor(
    cwd: string,
    sandbox: CommandSandbox | undefined,
    log: Log,
    patience: number = PATIENCE,
  ) {
    this.#cwd = cwd;
    this.#sandbox = sandbox;
    this.#log = log;
    this.#patience = patience;
  }

  /** The new errors of files that were just changed, in words; empty where there are none yet. */
  async after(
    changes: readonly ChangedFile[],
    work: Pick<ToolWork, "allow" | "files">,
  ): Promise<string> {
    if (this.#sandbox === undefined) return "";
    const found: Promise<string>[] = [];
    const unserved = new Map<string, [checker: ProjectChecker, files: string[]]>();
    for (const change of changes) {
      const { name, path } = change.target;
      const server = this.#serverFor(name);
      if (change.text === undefined) continue;
      if (server === undefined) {
        const checker = isInside(path, this.#cwd) ? checkerFor(name, this.#cwd) : undefined;
        if (checker === undefined) continue;
        const line = checker(["FILE"]);
        const [, files] = unserved.getOrInsertComputed(line, () => [checker, []]);
        files.push(relative(this.#cwd, path));
        continue;
      }
      await this.#allowed(server, work);
      const running = this.#servers.get(server);
      if (running === undefined) continue;
      // One after the other: a server knows one text of a file at a time.
      found.push(this.#checks.run(() => this.#newErrors(change, server, running)));
    }
    for (const [line, [checker, files]] of unserved) {
      if (await this.#mayRun(line, work)) found.push(this.#check(line, checker, files));
    }
    if (found.length === 0) return "";
    const all = Promise.all(found).then((texts) => texts.filter(Boolean).join("\n"));
    const first = await atMost(this.#patience, all);
    if (first !== undefined) return first;
    const keep = all.then((text) => text !== "" && work.files.seen.foundLate(text));
    background(keep, "Late diagnostics");
    return "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#idle);
    this.#stopper.abort();
    await this.#runs.run(async () => {});
    await this.#checks.run(() => this.#endServers());
  }

  /** Starts a server that the person has agreed to. Nobody waits for it here. */
  async #allowed(server: KnownServer, work: Pick<ToolWork, "allow">): Promise<void> {
    if (this.#servers.has(server)) return;
    const command = commandOf(server, this.#cwd);
    if (command === undefined) return;
    if (!(await this.#mayRun([command, ...server.args].map(shellWord).join(" "), work))) return;
    const started = this.#start(command, server).catch((error: unknown) => {
      this.#log.warn("agent.language-server-failed", { command, error });
      this.#failed.add(server);
      return undefined;
    });
    this.#servers.set(server, started);
  }

  /** Asks once about each command line. */
  async #mayRun(line: string, work: Pick<ToolWork, "allow">): Promise<boolean> {
    const known = this.#answers.get(line);
    if (known !== undefined) return known;
    if ((await this.#sandbox?.isThere().catch(() => false)) !== true) return false;
    const answer = await this.#ask(line, work);
    this.#answers.set(line, answer);
    return answer;
  }

  async #ask(line: string, { allow }: Pick<ToolWork, "allow">): Promise<boolean> {
    const says =
      "To see what its edits break, the agent wants to run this after each of them. It may run the " +
      "project's code: in the sandbox, without a network.";
    try {
      await allow({
        subject: { action: "run", command: line, folder: ".", sandbox: "in" },
        covers: "exactly this check",
        title: `Check edits with ${line}`,
        content: [textContent(`${says}\n\n${inCodeBlock(line)}`)],
      });
      return true;
    } catch (error) {
      if (error instanceof CallRejectedError) return false;
      throw error;
    }
  }

  async #start(
    command: string,
    { args, isUnnumbered }: KnownServer,
  ): Promise<LanguageServer | undefined> {
    const variables = harmlessVariables(process.env);
    const env = { ...variables, PATH: await loginPath(variables) };
    const program = { command, args, env, cwd: this.#cwd, serves: currentSession() };
    const signal = AbortSignal.any([this.#stopper.signal, AbortSignal.timeout(LONGEST)]);
    const confinement = await this.#sandbox?.enter();
    return confinement && LanguageServer.start(program, confinement, signal, isUnnumbered);
  }

  async #newErrors(
    { target, old = "", text = "" }: ChangedFile,
    { languages }: KnownServer,
    running: Promise<LanguageServer | undefined>,
  ): Promise<string> {
    this.#rest();
    try {
      const server = await running;
      if (server === undefined || server.isOver) return "";
      const language = languages[extname(target.name)] ?? "";
      const signal = AbortSignal.any([this.#stopper.signal, AbortSignal.timeout(LONGEST)]);
      const before = await server.errors(target.path, language, old, signal);
      const after = await server.errors(target.path, language, text, signal);
      const inFile = (error: Diagnostic): FileError => ({ ...error, file: target.name });
      return errorText(NEW, fresh(before.map(inFile), after.map(inFile)));
    } catch (error) {
      this.#log.warn("agent.diagnostics-failed", { file: target.name, error });
      return "";
    }
  }

  /**
   * The errors that a checker finds now and did not find in its last run; in its first, those of the
   * changed files. An edit that comes before a run has begun is checked by the same run, and the call that
   * waits for it is told.
   */
  #check(line: string, checker: ProjectChecker, files: readonly string[]): Promise<string> {
    const runs = this.#checkers.getOrInsert(line, { known: undefined, next: undefined });
    if (runs.next !== undefined) {
      for (const file of files) runs.next.add(file);
      return Promise.resolve("");
    }
    runs.next = new Set(files);
    return this.#runs.run(async () => {
      const changed = runs.next ?? new Set();
      runs.next = undefined;
      try {
        // A name that begins with a hyphen is no option.
        const names = Array.from(changed, (file) => `./${file}`);
        const errors = errorsIn(await this.#output(checker(names)), this.#cwd);
        const { known } = runs;
        runs.known = errors;
        const own = errors.filter(({ file }) => changed.has(file));
        if (known === undefined) return errorText(`\`${line}\` finds in changed files:`, own);
        const isOwn = ({ file }: FileError): number => Number(changed.has(file));
        const ownFirst = fresh(known, errors).toSorted((a, b) => isOwn(b) - isOwn(a));
        return errorText(NEW, ownFirst);
      } catch (error) {
        this.#log.warn("agent.diagnostics-failed", { line, error });
        return "";
      }
    });
  }

  async #output(line: string): Promise<string> {
    await using confinement = await this.#sandbox?.enter();
    if (confinement === undefined) return "";
    const options = { line, cwd: this.#cwd, timeout: LONGEST, signal: this.#stopper.signal };
    const { output } = await runLine({ ...options, confine: confinement.confine });
    return output;
  }

  #serverFor(name: string): KnownServer | undefined {
    const extension = extname(name);
    return SERVERS.find((server) => {
      if (!(extension in server.languages) || this.#failed.has(server)) return false;
      if (server.isPartial === true && checkerFor(name, this.#cwd) !== undefined) return false;
      return commandOf(server, this.#cwd) !== undefined;
    });
  }

  /** Ends servers that are not used. They start again with the next edit, without a question. */
  #rest(): void {
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => {
      const ended = this.#checks.run(() => this.#endServers());
      background(ended, "Ending language servers");
    }, IDLE).unref();
  }

  async #endServers(): Promise<void> {
    for (const [server, starting] of this.#servers) {
      const running = await starting;
      if (running === undefined) continue;
      this.#servers.delete(server);
      await running[Symbol.asyncDispose]();
    }
  }
}

/** The program of the project, or else of `PATH`. */
function commandOf({ program, fits }: KnownServer, project: string): string | undefined {
  const modules = join(project, "node_modules");
  const own = join(modules, ".bin", program);
  if (existsSync(own) && fits?.(join(modules, "typescript/package.json")) !== false) return own;
  const manifestOf = (path: string): string => join(dirname(realPath(path)), "../package.json");
  return inPath(program, (path) => fits?.(manifestOf(path)) !== false);
}

const NEW = "New errors since this edit:";

/** The errors that were not there before. Lines may have moved, so they do not count. */
function fresh(before: readonly FileError[], after: readonly FileError[]): FileError[] {
  const keyOf = ({ file, code, message }: FileError): string => `${file}: ${code} ${message}`;
  const known = Map.groupBy(before, keyOf);
  return after.filter((error) => known.get(keyOf(error))?.pop() === undefined);
}

function errorText(title: string, errors: readonly FileError[]): string {
  if (errors.length === 0) return "";
  const lines = errors.slice(0, MOST_SHOWN).map(({ file, line, column, code, message }) => {
    const says = [code, message].filter(Boolean).join(" ");
    return visibleLine(`${file}:${line}:${column}: ${says}`);
  });
  const rest = errors.length > MOST_SHOWN ? [`and ${errors.length - MOST_SHOWN} more`] : [];
  return [title, ...lines, ...rest].join("\n");
}

/**
 * The command line that checks a project, with the files that changed where it takes them, for files whose
 * language has no server here.
 */
type ProjectChecker = (files: readonly string[]) => string;

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
        ? () => "cargo check --offline --quiet --message-format short"
        : undefined,
  },
  {
    extensions: [".go"],
    find: (project) =>
      has(project, "go.mod") && inPath("go") !== undefined
        ? () => "GOPROXY=off GOFLAGS=-mod=readonly go vet ./..."
        : undefined,
  },
  {
    extensions: [".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".vue", ".svelte"],
    find: (project) => {
      const script = scriptOf(project);
      if (script !== undefined) return () => `npm run --silent ${script}`;
      const tsc = "node_modules/.bin/tsc";
      const isTyped = has(project, "tsconfig.json") && isExecutable(join(project, tsc));
      return isTyped ? () => `${tsc} --noEmit --pretty false` : undefined;
    },
  },
  {
    extensions: [".py"],
    find: (project) => {
      const mypy = ownProgram(project, "mypy");
      if (mypy !== undefined && configures(project, "mypy", ["mypy.ini", ".mypy.ini"])) {
        return (files) => [mypy, "--no-pretty", ...files].map(shellWord).join(" ");
      }
      const ruff = ownProgram(project, "ruff");
      if (ruff !== undefined && configures(project, "ruff", ["ruff.toml", ".ruff.toml"])) {
        const words = [ruff, "check", "--no-fix", "--output-format", "concise"];
        return (files) => [...words, ...files].map(shellWord).join(" ");
      }
      const python = ownProgram(project, "python3");
      if (python === undefined) return undefined;
      // Checks the syntax only: runs nothing, and writes nothing.
      const check = (file: string): string =>
        `${shellWord(python)} -I -m ast ${shellWord(file)} > /dev/null`;
      return (files) => files.map(check).join("; ");
    },
  },
];

/** The checker of a project for a file; undefined where there is none. */
export function checkerFor(name: string, project: string): ProjectChecker | undefined {
  const extension = extname(name);
  return LANGUAGES.find(({ extensions }) => extensions.includes(extension))?.find(project);
}

function has(project: string, name: string): boolean {
  return existsSync(join(project, name));
}

function inPath(program: string, fits?: (path: string) => boolean): string | undefined {
  const folders = absolutePath(process.env.PATH).split(":");
  const paths = folders.map((folder) => join(folder, program));
  return paths.find((path) => isExecutable(path) && fits?.(path) !== false);
}

/** A program of the project's virtual environment, or of `PATH`. */
function ownProgram(project: string, program: string): string | undefined {
  const own = [".venv", "venv"].map((folder) => join(folder, "bin", program));
  return own.find((path) => isExecutable(join(project, path))) ?? inPath(program);
}

/** The scripts that check a project, the most exact first. */
const CHECK_SCRIPTS = ["typecheck", "types", "check", "lint"];
/** A script that changes files or keeps running is not used as a check. */
const CHANGES = /\b(?:fix|write|format|watch)\b| -w\b/;

function scriptOf(project: string): string | undefined {
  const { scripts } = objectIn(textOf(project, "package.json")) ?? {};
  return CHECK_SCRIPTS.find((name) => {
    const script = isObject(scripts) && Object.hasOwn(scripts, name) ? scripts[name] : undefined;
    return typeof script === "string" && !CHANGES.test(script);
  });
}

/** Whether a project configures a tool of Python: in a file of its own, or in one of all tools. */
function configures(project: string, tool: string, files: readonly string[]): boolean {
  if (files.some((name) => has(project, name))) return true;
  const table = new RegExp(`^\\[(?:tool\\.)?${tool}\\b`, "m");
  return ["pyproject.toml", "setup.cfg"].some((name) => table.test(textOf(project, name)));
}

function textOf(project: string, name: string): string {
  const limits = { most: MOST_MANIFEST, inside: [project] };
  return attempt(() => readRegularFile(join(project, name), limits))?.toString("utf8") ?? "";
}

/** An error of a file, by its path in the project. */
interface FileError extends Diagnostic {
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

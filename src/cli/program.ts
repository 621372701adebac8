import { TrunklineError } from "../base/errors.ts";
import { callOf, type Command, type Invocation, endOf, type Values } from "./shell/command.ts";
import { PROGRAM } from "./commands.ts";
import { type Host, isVerbose, writer } from "./shell/host.ts";
import { terminalText, styleOf } from "./shell/layout.ts";
import { parse, type Parsed } from "./shell/parse.ts";

type TextWriter = (text: string) => void;

/** Where a command writes: text for people to `out` and `err`, data for programs to `data`. */
interface OutputWriters {
  readonly out: TextWriter;
  readonly err: TextWriter;
  readonly data: TextWriter;
}

/**
 * Runs the command that the arguments name, and resolves to the exit code. Help and explanations of
 * mistakes are imported only when they are needed.
 */
export async function run(
  args: readonly string[],
  host: Host,
  program: Command = PROGRAM,
): Promise<number> {
  // If stderr cannot be written, the exit code stays the same.
  const complain = writer(
    () => host.stderr,
    () => undefined,
  );
  // All text for people is painted: hidden characters in it are escaped, whoever it comes from.
  const err: TextWriter = (text) => complain(terminalText(text));
  const print = writer(
    () => host.stdout,
    ({ code, message }) => {
      // A reader that stops early (`trunkline … | head`) is not a failure.
      if (code === "EPIPE") return host.exit(0);
      err(`trunkline: Cannot write to standard output: ${message}\n`);
      host.exit(1);
    },
  );
  const out: TextWriter = (text) => print(terminalText(text));
  const data: TextWriter = (text) => print(host.stdout.isTTY === true ? terminalText(text) : text);
  const parsed = parse(isBegun(args, host) ? ["serve", "--open"] : args, program);
  try {
    return await follow(parsed, host, { out, err, data });
  } catch (error) {
    const { renderFailure } = await import("./shell/failure.ts");
    const verbose = isVerbose(host.env) || args.includes("--verbose");
    const { text, exitCode } = renderFailure(error, parsed.path, verbose);
    err(text);
    return exitCode;
  }
}

/** `npx trunkline`, typed by a person: it begins as `npm start` does. Others see the help. */
function isBegun(args: readonly string[], { env, stdout }: Host): boolean {
  return args.length === 0 && env.npm_command === "exec" && stdout.isTTY === true;
}

async function follow(parsed: Parsed, host: Host, outputs: OutputWriters): Promise<number> {
  const { out, err } = outputs;
  switch (parsed.kind) {
    case "run": {
      const runner = await endOf(parsed.path).load?.();
      noteNewName(parsed, err);
      if (runner === undefined) throw new Error(`Command '${endOf(parsed.path).name}' has no code`);
      return await runner.run(invocationOf(parsed.values, parsed.positionals, host, outputs));
    }
    case "help": {
      const { renderHelp } = await import("./help/help.ts");
      out(renderHelp(parsed.path, styleOf(host.stdout, host.env)));
      return 0;
    }
    case "no-command": {
      const { renderHelp } = await import("./help/help.ts");
      err(renderHelp(parsed.path, styleOf(host.stderr, host.env)));
      return 2;
    }
    case "version": {
      const { VERSION } = await import("../base/version.ts");
      const { version: node, platform, arch } = process;
      const facts = { version: VERSION, node, platform, arch };
      out(parsed.json ? `${JSON.stringify(facts)}\n` : `trunkline ${VERSION}\n`);
      return 0;
    }
    case "misuse":
      throw new TrunklineError("usage", parsed.says);
  }
}

/** Other programs read the output of `--json`, and some of them stderr as well. */
function noteNewName(parsed: Extract<Parsed, { kind: "run" }>, err: TextWriter): void {
  const { formerly, path, values } = parsed;
  if (formerly === undefined || values.json === true) return;
  err(`'${formerly}' is now '${callOf(path)}'.\n`);
}

function invocationOf(
  values: Values,
  positionals: readonly string[],
  host: Host,
  outputs: OutputWriters,
): Invocation {
  return {
    values,
    positionals,
    env: values.verbose === true ? { ...host.env, TRUNKLINE_VERBOSE: "1" } : host.env,
    ...outputs,
    // Getters: reading them opens stdout, or fails in a folder that was deleted, and not all need that.
    get cwd() {
      return host.cwd();
    },
    get color() {
      return styleOf(host.stdout, host.env).color;
    },
    get isTerminal() {
      return host.stdout.isTTY === true;
    },
    get width() {
      return styleOf(host.stdout, host.env).width;
    },
    get edge() {
      return host.stdout.columns || Infinity;
    },
  };
}

import { type Command, type Invocation, last, type Values } from "./shell/command.ts";
import { PROGRAM } from "./commands.ts";
import { type Host, isVerbose, writer } from "./shell/host.ts";
import { styleOf } from "./shell/style.ts";
import { painted } from "./shell/style.ts";
import { parse, type Parsed } from "./shell/parse.ts";

type Write = (text: string) => void;

/** Where text goes: to people who read it, or to programs as it is. */
interface Outputs {
  readonly out: Write;
  readonly err: Write;
  readonly data: Write;
}

/**
 * Runs what the words after the program's name ask for, and resolves to the exit code. Whatever a
 * good command line does not need (help, explanations) is imported only when it is asked for.
 */
export async function run(
  args: readonly string[],
  host: Host,
  program: Command = PROGRAM,
): Promise<number> {
  // A reader that ignores our complaints does not change how it ends.
  const complain = writer(
    () => host.stderr,
    () => undefined,
  );
  // Every word for a person passes here, whoever it is from: what would not be seen is shown.
  const err: Write = (text) => complain(painted(text));
  const print = writer(
    () => host.stdout,
    ({ code, message }) => {
      // A reader that has seen enough (`trunkline … | head`) is no failure of ours.
      if (code === "EPIPE") return host.exit(0);
      err(`trunkline: Cannot write to standard output: ${message}\n`);
      host.exit(1);
    },
  );
  const out: Write = (text) => print(painted(text));
  const data: Write = (text) => print(host.stdout.isTTY === true ? painted(text) : text);
  const parsed = parse(args, program);
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

async function follow(parsed: Parsed, host: Host, outputs: Outputs): Promise<number> {
  const { out, err } = outputs;
  switch (parsed.kind) {
    case "run": {
      const runner = await last(parsed.path).load?.();
      if (runner === undefined) throw new Error(`Command '${last(parsed.path).name}' has no code`);
      return runner.run(invocationOf(parsed.values, parsed.positionals, host, outputs));
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
    case "misuse": {
      const { misuseError } = await import("./shell/misuse.ts");
      throw misuseError(parsed.misuse);
    }
  }
}

function invocationOf(
  values: Values,
  positionals: readonly string[],
  host: Host,
  outputs: Outputs,
): Invocation {
  return {
    values,
    positionals,
    env: values.verbose === true ? { ...host.env, TRUNKLINE_VERBOSE: "1" } : host.env,
    cwd: host.cwd(),
    ...outputs,
    // Looking at stdout opens it, which a command that never asks need not pay for.
    get color() {
      return styleOf(host.stdout, host.env).color;
    },
    get isTerminal() {
      return host.stdout.isTTY === true;
    },
    get width() {
      return styleOf(host.stdout, host.env).width;
    },
  };
}

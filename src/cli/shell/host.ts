import { TrunklineError } from "../../base/errors.ts";
import { isOn } from "../../base/process/environment.ts";

/** The parts of a process that the program uses, so that tests can replace them. */
export interface Host {
  readonly env: NodeJS.ProcessEnv;
  readonly stdout: Output;
  readonly stderr: Output;
  cwd(): string;
  exit(code: number): void;
}

export interface Output {
  readonly isTTY?: boolean;
  readonly columns?: number | undefined;
  write(text: string | Uint8Array): unknown;
  on(event: "error", listener: (error: NodeJS.ErrnoException) => void): unknown;
}

export function isVerbose(env: NodeJS.ProcessEnv): boolean {
  return isOn(env.TRUNKLINE_VERBOSE) || isOn(env.REMOTE_JUGGLER_VERBOSE);
}

/**
 * Writes to one output, and calls `failed` if that fails. The output is opened with the first write:
 * a command that speaks a protocol on it handles failures itself.
 */
export function writer(
  output: () => Output,
  failed: (error: NodeJS.ErrnoException) => void,
): (text: string) => void {
  let opened: Output | undefined;
  return (text) => {
    if (opened === undefined) {
      opened = output();
      opened.on("error", failed);
    }
    opened.write(text);
  };
}

/** This process. */
export const processHost: Host = {
  env: process.env,
  get stdout() {
    return process.stdout;
  },
  get stderr() {
    return process.stderr;
  },
  cwd: currentFolder,
  exit: (code) => process.exit(code),
};

function currentFolder(): string {
  try {
    return process.cwd();
  } catch {
    const next = "Change to a folder that is there, such as with `cd`, and run it again";
    throw new TrunklineError("config", `The folder that this runs in was deleted. ${next}.`);
  }
}

/** The longest delay of a timer, in milliseconds. */
const LONGEST_TIMER = 2 ** 31 - 1;

/**
 * Runs this process's command. A timer keeps the process alive until the command has ended, also
 * while no open handle would, such as when input is not read and only unreferenced timers run.
 */
export async function runProcess(
  run: (args: readonly string[], host: Host) => Promise<number>,
): Promise<void> {
  using _ = setInterval(() => {}, LONGEST_TIMER);
  // Not yet process.exit(): pending writes must finish.
  process.exitCode = await run(process.argv.slice(2), processHost);
}

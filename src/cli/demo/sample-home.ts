import { rmSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { fileWords, TrunklineError } from "../../base/errors.ts";
import { OwnedChild } from "../../base/process/child-process.ts";
import { usualVariables } from "../../base/process/environment.ts";
import { readOutput } from "../../base/process/read-output.ts";
import { selfCommand } from "../../base/process/self-command.ts";

/** The folder of the project, in which all its programs are started. */
export const PROJECT = "app";

async function temporaryFolder(): Promise<string> {
  const parent = tmpdir();
  return await mkdtemp(join(parent, "trunkline-demo-")).catch((error: unknown) => {
    const says = `Cannot make a folder in '${parent}': ${fileWords(error, parent)}`;
    throw new TrunklineError("unavailable", `${says}. Set TMPDIR to another.`, { cause: error });
  });
}

/** A program that runs in the background. */
export interface StartedProgram {
  /** The next line that it prints. */
  line(): Promise<string>;
  send(text: string): void;
}

export type SampleHome = Awaited<ReturnType<typeof sampleHome>>;

/** A home, a configuration and a data folder in a temporary place, and what runs there. */
export async function sampleHome(signal: AbortSignal) {
  const folder = await temporaryFolder();
  const children: OwnedChild[] = [];
  const atExit = (): void => rmSync(folder, { recursive: true, force: true });
  process.once("exit", atExit);
  const env: NodeJS.ProcessEnv = {
    ...usualVariables(),
    HOME: join(folder, "home"),
    TRUNKLINE_DATA: join(folder, "data"),
    TRUNKLINE_CONFIG: join(folder, "config.jsonc"),
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_TERMINAL_PROMPT: "0",
    NO_COLOR: "1",
  };
  const path = (...names: string[]): string => join(folder, ...names);
  for (const name of ["home", PROJECT]) await mkdir(path(name));

  /** Runs a command to its end. Fails with what it printed if it fails. */
  async function run(words: readonly string[]): Promise<void> {
    const { child, said } = await begin(words);
    child.stdin.end();
    const exit = await readOutput(child, (text) => said.push(text), signal);
    if (exit !== 0) throw ended(words, `with ${exit}`, said);
  }

  async function start(words: readonly string[]): Promise<StartedProgram> {
    const { child, said } = await begin(words);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return {
      line: async () => {
        const next = await lines.next();
        signal.throwIfAborted();
        if (next.done !== true) return next.value;
        throw ended(words, "early", said);
      },
      send: (text) => {
        child.stdin.write(`${text}\n`);
      },
    };
  }

  /** Starts a program, whose lines on stderr are kept for what its failure says. */
  async function begin(
    words: readonly string[],
  ): Promise<{ readonly child: OwnedChild; readonly said: string[] }> {
    signal.throwIfAborted();
    const [name = "", ...args] = words;
    const [command, ...first] = name === "trunkline" ? selfCommand() : [name];
    const said: string[] = [];
    const child = await OwnedChild.start({
      command,
      args: [...first, ...args],
      env: env,
      cwd: path(PROJECT),
      // A gateway takes its mounts down before it ends.
      grace: 5_000,
      stderr: (line) => said.push(line),
    });
    children.push(child);
    return { child, said };
  }

  return {
    ...{ folder, env, path, run, start },
    write: (name: string, text: string) => writeFile(path(name), text),
    [Symbol.asyncDispose]: async (): Promise<void> => {
      process.off("exit", atExit);
      await Promise.all(children.map((child) => child.end()));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function ended(words: readonly string[], how: string, said: readonly string[]): TrunklineError {
  const what = `'${words.slice(0, 3).join(" ")}' ended ${how}`;
  return new TrunklineError("unavailable", `${what}: ${said.slice(-3).join(" ")}`);
}

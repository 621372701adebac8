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

/** A home, a configuration and a data folder in a temporary place, and what runs there. */
export class SampleHome implements AsyncDisposable {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly #signal: AbortSignal;
  readonly #children: OwnedChild[] = [];
  /** Removes the folder if the process exits without disposing, such as when its output is closed. */
  readonly #atExit = (): void => rmSync(this.folder, { recursive: true, force: true });

  private constructor(folder: string, signal: AbortSignal) {
    this.folder = folder;
    this.#signal = signal;
    process.once("exit", this.#atExit);
    this.env = {
      ...usualVariables(),
      HOME: join(folder, "home"),
      TRUNKLINE_DATA: join(folder, "data"),
      TRUNKLINE_CONFIG: join(folder, "config.jsonc"),
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_TERMINAL_PROMPT: "0",
      NO_COLOR: "1",
    };
  }

  /** `signal` ends the wait for a program, and keeps others from being started. */
  static async make(signal: AbortSignal): Promise<SampleHome> {
    const home = new SampleHome(await temporaryFolder(), signal);
    await mkdir(home.path("home"));
    await mkdir(home.path(PROJECT));
    return home;
  }

  path(...names: string[]): string {
    return join(this.folder, ...names);
  }

  async write(name: string, text: string): Promise<void> {
    await writeFile(this.path(name), text);
  }

  /** Runs a command to its end. Fails with what it printed if it fails. */
  async run(words: readonly string[]): Promise<void> {
    const { child, said } = await this.#start(words);
    child.stdin.end();
    const exit = await readOutput(child, (text) => said.push(text), this.#signal);
    if (exit !== 0) throw ended(words, `with ${exit}`, said);
  }

  async start(words: readonly string[]): Promise<StartedProgram> {
    const { child, said } = await this.#start(words);
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    return {
      line: async () => {
        const next = await lines.next();
        this.#signal.throwIfAborted();
        if (next.done !== true) return next.value;
        throw ended(words, "early", said);
      },
      send: (text) => {
        child.stdin.write(`${text}\n`);
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    process.off("exit", this.#atExit);
    await Promise.all(this.#children.map((child) => child.end()));
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Starts a program, whose lines on stderr are kept for what its failure says. */
  async #start(
    words: readonly string[],
  ): Promise<{ readonly child: OwnedChild; readonly said: string[] }> {
    this.#signal.throwIfAborted();
    const [name = "", ...args] = words;
    const [command, ...first] = name === "trunkline" ? selfCommand() : [name];
    const said: string[] = [];
    const child = await OwnedChild.start({
      command,
      args: [...first, ...args],
      env: this.env,
      cwd: this.path(PROJECT),
      // A gateway takes its mounts down before it ends.
      grace: 5_000,
      stderr: (line) => said.push(line),
    });
    this.#children.push(child);
    return { child, said };
  }
}

function ended(words: readonly string[], how: string, said: readonly string[]): TrunklineError {
  const what = `'${words.slice(0, 3).join(" ")}' ended ${how}`;
  return new TrunklineError("unavailable", `${what}: ${said.slice(-3).join(" ")}`);
}

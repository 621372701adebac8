import { currentSession } from "../base/background.ts";
import { type ChildExit, type Confine, OwnedChild } from "../base/process/child-process.ts";
import { closeStreams } from "../base/process/close-streams.ts";
import type { Terminal, TerminalExit, TerminalOptions, TerminalOutput } from "../session/agent.ts";
import { loginPath } from "./command-environment.ts";
import { WHEN_WATCHED } from "./files/run-line.ts";
import { harmlessVariables } from "./command-environment.ts";
import type { Confinement } from "./files/command-sandbox.ts";

/** Bytes of output that are kept, unless the agent sets outputByteLimit. */
const USUAL_OUTPUT = 1024 * 1024;
const MOST_OUTPUT = 8 * USUAL_OUTPUT;

/** A terminal (ACP terminals) in this process, for agents whose editor has none. */
export class ExternalTerminal implements Terminal {
  readonly terminalId = crypto.randomUUID();
  readonly #child: OwnedChild;
  readonly #kept: KeptOutput;
  readonly #confinement: Confinement | undefined;
  readonly #ended: Promise<TerminalExit>;
  #exit: TerminalExit | undefined;

  private constructor(
    child: OwnedChild,
    limit: number,
    heard: () => void,
    confinement: Confinement | undefined,
  ) {
    this.#child = child;
    this.#confinement = confinement;
    this.#kept = new KeptOutput(limit);
    child.stdin.end("\n");
    child.stdout.on("data", (bytes: Buffer) => {
      this.#kept.add(bytes);
      heard();
    });
    child.stdout.on("error", () => {});
    this.#ended = this.#end();
  }

  /**
   * Starts a command in its own process group, without our secrets. `heard` is called on output, and
   * `confinement` is disposed of when it has ended.
   */
  static async start(
    options: TerminalOptions & { readonly cwd: string },
    heard: () => void = () => {},
    confine: Confine = (program) => program,
    confinement?: Confinement,
  ): Promise<ExternalTerminal> {
    const { command, args = [], env = [], cwd, outputByteLimit = USUAL_OUTPUT } = options;
    const variables = harmlessVariables(process.env);
    // A command without arguments is a line for the shell.
    const run = args.length > 0 ? 'exec "$0" "$@"' : 'eval "$0"';
    const program = {
      command: "/bin/sh",
      args: ["-c", `${WHEN_WATCHED}${run}`, command, ...args],
      env: {
        ...variables,
        PATH: await loginPath(variables),
        ...Object.fromEntries(env.map(({ name, value }) => [name, value])),
      },
      cwd,
      serves: currentSession(),
    };
    const child = await OwnedChild.start(confine(program));
    return new ExternalTerminal(child, Math.min(outputByteLimit, MOST_OUTPUT), heard, confinement);
  }

  async output(): Promise<TerminalOutput> {
    return this.said;
  }

  /** The output and exit status so far. */
  get said(): TerminalOutput {
    const { text, isCut } = this.#kept;
    const exitStatus = this.#exit === undefined ? {} : { exitStatus: this.#exit };
    return { output: text, truncated: isCut, ...exitStatus };
  }

  waitForExit(): Promise<TerminalExit> {
    return this.#ended;
  }

  async kill(): Promise<void> {
    this.#child.kill();
    await Promise.all([this.#ended, this.#child.gone]);
  }

  release(): Promise<void> {
    return this.kill();
  }

  async #end(): Promise<TerminalExit> {
    const { stdout } = this.#child;
    const closed = new Promise((resolve) => stdout.once("close", resolve));
    const exit = await this.#child.exit;
    const callOff = closeStreams(stdout);
    await closed;
    callOff();
    if (this.#confinement !== undefined) {
      await this.#confinement[Symbol.asyncDispose]();
      this.#kept.add(
        Buffer.from(this.#confinement.notes.map((note) => `Git: ${note}.\n`).join("")),
      );
    }
    this.#exit = statusOf(exit);
    return this.#exit;
  }
}

function statusOf(exit: ChildExit): TerminalExit {
  return typeof exit === "number" ? { exitCode: exit } : { exitCode: null, signal: exit };
}

/** ACP terminal/create § outputByteLimit: keeps the end of the output, cut at a character boundary. */
class KeptOutput {
  readonly #limit: number;
  #pieces: Buffer[] = [];
  #size = 0;
  #isCut = false;

  constructor(limit: number) {
    this.#limit = limit;
  }

  get isCut(): boolean {
    return this.#isCut;
  }

  get text(): string {
    this.#trim();
    return this.#pieces[0]?.toString("utf8") ?? "";
  }

  add(bytes: Buffer): void {
    this.#pieces.push(bytes);
    this.#size += bytes.length;
    // Trimmed rarely, since it copies.
    if (this.#size > this.#limit * 2 + 65_536) this.#trim();
  }

  #trim(): void {
    let kept = Buffer.concat(this.#pieces);
    if (kept.length > this.#limit) {
      this.#isCut = true;
      let from = kept.length - this.#limit;
      // Do not cut inside a UTF-8 character.
      while (from < kept.length && ((kept[from] ?? 0) & 0xc0) === 0x80) from++;
      kept = Buffer.from(kept.subarray(from));
    }
    this.#pieces = [kept];
    this.#size = kept.length;
  }
}

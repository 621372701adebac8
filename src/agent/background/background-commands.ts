import { setTimeout as delay } from "node:timers/promises";

import { TrunklineError } from "../../base/errors.ts";
import { untilAborted } from "../../base/abort.ts";
import { type Confinement, confinementNotes } from "../files/command-sandbox.ts";
import { BoundedText, readBounded } from "../files/read-bounded.ts";
import { type CommandLine, endText, startLine } from "../files/run-line.ts";
import type { ConsentRequest, ToolWork } from "../tools/agent-tool.ts";

/** Characters of output that are kept for whoever reads it later. */
const MOST_OUTPUT = 64_000;
/** Commands that run in the background of one session at once. */
const MOST_RUNNING = 8;
/** Commands that have ended whose output can still be read. */
const MOST_ENDED = 8;

interface BackgroundLine extends Pick<CommandLine, "line" | "cwd" | "identity"> {
  /** Disposed of when the command has ended. If it cannot be started, the caller disposes of it. */
  readonly confinement: Confinement | undefined;
}

/** A command that goes on while the agent does other things. */
export class BackgroundCommand {
  readonly id: string;
  readonly line: string;
  /** Resolves when it has ended, and nothing is left that it started. */
  readonly over: Promise<void>;
  readonly #output = new BoundedText(MOST_OUTPUT);
  readonly #stopping = new AbortController();
  readonly #confinement: Confinement | undefined;
  readonly #told = new Set<string>();
  #end: string | undefined;
  #heard = Promise.withResolvers<void>();

  constructor(id: string, line: BackgroundLine, started: ReturnType<typeof startLine>) {
    this.id = id;
    this.line = line.line;
    this.#confinement = line.confinement;
    this.over = this.#follow(started);
  }

  /** How it ended, in words; undefined while it runs. */
  get end(): string | undefined {
    return this.#end;
  }

  get state(): string {
    return this.#end ?? "running";
  }

  /** What it wrote since the last call, and what the sandbox kept it from. */
  take(): string {
    const all = this.#confinement === undefined ? [] : confinementNotes(this.#confinement);
    const notes = all.filter((note) => !this.#told.has(note));
    for (const note of notes) this.#told.add(note);
    return [this.#output.take().trimEnd(), ...notes].filter((text) => text !== "").join("\n");
  }

  /** Waits until it writes something or ends, at most that many milliseconds. */
  async news(milliseconds: number, signal: AbortSignal): Promise<void> {
    if (!this.#output.isEmpty || this.#end !== undefined || milliseconds <= 0) return;
    const late = delay(milliseconds, undefined, { ref: false });
    await untilAborted(Promise.race([this.#heard.promise, this.over, late]), signal);
  }

  /** Ends it, with all that it started. */
  async stop(): Promise<void> {
    this.#stopping.abort(new TrunklineError("cancelled", "It was stopped"));
    await this.over;
  }

  async #follow(started: ReturnType<typeof startLine>): Promise<void> {
    let end: string;
    try {
      await using _ = this.#confinement;
      const { child, problems } = await started;
      const { exit } = await readBounded(child, {
        signal: this.#stopping.signal,
        most: 0,
        heard: (_, text) => this.#hear(text),
      });
      this.#hear(problems.join("\n"));
      end = endText(exit);
    } catch (error) {
      end = this.#stopping.signal.aborted ? "stopped" : (error as Error).message;
    }
    await this.#confinement?.[Symbol.asyncDispose]();
    this.#end = end;
    this.#heard.resolve();
  }

  #hear(text: string): void {
    this.#output.add(text);
    this.#heard.resolve();
    this.#heard = Promise.withResolvers();
  }
}

/** The commands in the background of one session. They end with it. */
export class BackgroundCommands implements AsyncDisposable {
  readonly #commands = new Map<string, BackgroundCommand>();
  #last = 0;
  #isOver = false;
  #ask: ToolWork["allow"] | undefined;

  get all(): readonly BackgroundCommand[] {
    return [...this.#commands.values()];
  }

  /** The line for the model about those that run; empty where none does. */
  get instructions(): string {
    const running = this.all.filter(({ end }) => end === undefined);
    if (running.length === 0) return "";
    const list = running.map(({ id, line }) => `${id} (${line.slice(0, 200)})`).join(", ");
    return `\n\nCommands that run in the background: ${list}.`;
  }

  /** Questions about the hosts that commands connect to are asked in this call, until the turn ends. */
  asksBy(allow: ToolWork["allow"]): void {
    this.#ask = allow;
  }

  turnEnded(): void {
    this.#ask = undefined;
  }

  /** Waits for consent. Throws "unavailable" between turns, when nobody can be asked. */
  async allow(consent: ConsentRequest): Promise<void> {
    if (this.#ask !== undefined) return this.#ask(consent);
    throw new TrunklineError("unavailable", "Nobody can be asked, since no turn is running");
  }

  /** Throws with the ids that there are. */
  find(id: string): BackgroundCommand {
    const found = this.#commands.get(id);
    if (found !== undefined) return found;
    const ids = [...this.#commands.keys()].join(", ");
    const there = ids === "" ? "There is none." : `There are: ${ids}.`;
    const says = `There is no command '${id.slice(0, 50)}' in the background. ${there}`;
    throw new TrunklineError("not-found", says);
  }

  /** Throws "limit" if the maximum number of commands is running. */
  start(line: BackgroundLine): BackgroundCommand {
    const running = this.all.filter(({ end }) => end === undefined);
    if (this.#isOver) throw new TrunklineError("closed", "The session is over.");
    if (running.length >= MOST_RUNNING) {
      const ids = running.map(({ id }) => id).join(", ");
      const says = `Cannot start another command in the background: ${MOST_RUNNING} are running`;
      throw new TrunklineError("limit", `${says} (${ids}). Stop one first.`);
    }
    const id = String(++this.#last);
    const started = startLine({ ...line, confine: line.confinement?.confine });
    const command = new BackgroundCommand(id, line, started);
    this.#commands.set(id, command);
    this.#forget();
    return command;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.all.map((command) => command.stop()));
  }

  #forget(): void {
    const ended = this.all.filter(({ end }) => end !== undefined);
    for (const { id } of ended.slice(0, -MOST_ENDED)) this.#commands.delete(id);
  }
}

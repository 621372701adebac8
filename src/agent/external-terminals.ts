import { background } from "../base/background.ts";
import type { Confine } from "../base/process/child-process.ts";
import { TrunklineError } from "../base/errors.ts";
import type { SessionUpdate, Terminal, TerminalHost, TerminalOptions } from "../session/agent.ts";
import type { Confinement } from "./files/command-sandbox.ts";
import { ExternalTerminal } from "./external-terminal.ts";
import { fencedEnd } from "./tools/shown-content.ts";

/** Terminals that a session may have at once. */
const MOST = 32;
/** Milliseconds between two updates with the output of a command. */
const SHOW_EVERY = 500;

type Content = Readonly<Record<string, unknown>>;
type Options = TerminalOptions & { readonly cwd: string };

/** A tool call with terminals of ours, whose ids the editor does not know. */
interface Showing {
  readonly toolCallId: unknown;
  readonly content: readonly Content[];
}

/** The terminals of one session: at the editor where it offers them, else in this process. */
export class ExternalTerminals {
  readonly #terminals = new Map<string, Terminal>();
  readonly #showing = new Map<string, Showing>();
  readonly #shownAt = new Map<string, number>();
  readonly #show: (update: SessionUpdate) => void;
  readonly #confine: Confine;

  /** `show` sends a tool call again when its command has new output. */
  constructor(show: (update: SessionUpdate) => void, confine: Confine) {
    this.#show = show;
    this.#confine = confine;
  }

  /** Without a host, the command runs here: in its own sandbox, or in that of the agent. */
  async create(
    options: Options,
    host: TerminalHost | undefined,
    confinement?: Confinement,
  ): Promise<string> {
    if (this.#terminals.size >= MOST) {
      await confinement?.[Symbol.asyncDispose]();
      const why = `Cannot open a terminal: ${MOST} are open. Release one first.`;
      throw new TrunklineError("limit", why);
    }
    const terminal =
      host === undefined ? await this.#start(options, confinement) : await host.create(options);
    this.#terminals.set(terminal.terminalId, terminal);
    return terminal.terminalId;
  }

  find(id: string): Terminal {
    const terminal = this.#terminals.get(id);
    if (terminal !== undefined) return terminal;
    throw new TrunklineError("not-found", `There is no terminal '${id.slice(0, 64)}'.`);
  }

  async release(id: string): Promise<void> {
    const terminal = this.find(id);
    try {
      // Its last output is shown before it is forgotten.
      await terminal.release();
    } finally {
      this.#terminals.delete(id);
      this.#showing.delete(id);
      this.#shownAt.delete(id);
    }
  }

  /** Kills and releases all terminals. */
  async clear(): Promise<void> {
    const ids = [...this.#terminals.keys()];
    await Promise.allSettled(ids.map((id) => this.release(id)));
  }

  /** Replaces terminals of ours in an update by their output as text. */
  translate(update: SessionUpdate): SessionUpdate {
    const { toolCallId } = update;
    if (toolCallId === undefined) return update;
    const { content } = update;
    if (!Array.isArray(content)) return update;
    const parts = content as readonly Content[];
    const own = parts.map(({ terminalId }) => String(terminalId)).filter((id) => this.#isOwn(id));
    if (own.length === 0) return update;
    for (const id of own) this.#showing.set(id, { toolCallId, content: parts });
    return { ...update, content: parts.map((part) => this.#render(part)) };
  }

  #isOwn(id: string): boolean {
    return this.#terminals.get(id) instanceof ExternalTerminal;
  }

  async #start(options: Options, confinement: Confinement | undefined): Promise<ExternalTerminal> {
    const heard = (): void => {
      const { terminalId: id } = terminal;
      const now = performance.now();
      if (now - (this.#shownAt.get(id) ?? 0) < SHOW_EVERY) return;
      this.#shownAt.set(id, now);
      this.#refresh(id);
    };
    const { confine = this.#confine } = confinement ?? {};
    await using starting = new AsyncDisposableStack();
    if (confinement !== undefined) starting.use(confinement);
    const terminal = await ExternalTerminal.start(options, heard, confine, confinement);
    starting.move();
    background(
      terminal.waitForExit().then(() => this.#refresh(terminal.terminalId)),
      "Showing the end of a command",
    );
    return terminal;
  }

  #refresh(id: string): void {
    const showing = this.#showing.get(id);
    if (showing === undefined) return;
    const { toolCallId } = showing;
    const content = showing.content.map((part) => this.#render(part));
    this.#show({ sessionUpdate: "tool_call_update", toolCallId, content });
  }

  #render(part: Content): Content {
    const terminal = this.#terminals.get(String(part.terminalId));
    if (part.type !== "terminal" || !(terminal instanceof ExternalTerminal)) return part;
    const { output, exitStatus } = terminal.said;
    const { exitCode, signal } = exitStatus ?? {};
    const end = exitStatus === undefined ? "" : `\n(${signal ?? `exit code ${exitCode}`})`;
    const text = fencedEnd(`${output.trimEnd()}${end}`);
    return { type: "content", content: { type: "text", text } };
  }
}

import { SignalStop, type Stop } from "../../base/stop.ts";
import type { LogLevel } from "../../base/log.ts";
import { OWNER } from "../../base/principal.ts";
import {
  type Caller,
  CannotAsk,
  type Project,
  type Question,
  type ToolContext,
} from "../../tool/tool.ts";

export interface TerminalCallerOptions {
  /** The folder that the person is in. */
  readonly folder: string;
  readonly signal: AbortSignal;
  /** What a tool says while it works. */
  readonly tell: (line: string) => void;
  /** Asks the person for a yes or no. Undefined where nobody is there. */
  readonly confirm?: ((message: string) => Promise<boolean>) | undefined;
}

/** The name of the caller at a terminal, for the policy and the audit. */
export const TERMINAL: Caller = {
  door: "cli",
  name: "terminal",
  principal: OWNER,
  client: "terminal",
};

/** A person who calls a tool from a terminal. */
export class TerminalCaller implements ToolContext {
  readonly caller = TERMINAL;
  readonly meta = {};
  readonly folder: string;
  project?: Project | undefined;
  readonly signal: AbortSignal;
  readonly stop: Stop;
  readonly #tell: (line: string) => void;
  readonly #confirm: TerminalCallerOptions["confirm"];

  constructor(options: TerminalCallerOptions) {
    this.folder = options.folder;
    this.signal = options.signal;
    this.stop = new SignalStop(options.signal);
    this.#tell = options.tell;
    this.#confirm = options.confirm;
  }

  progress(done: number, total?: number, message?: string): void {
    const count = total === undefined ? String(done) : `${done}/${total}`;
    this.#tell(message === undefined ? count : `${count} ${message}`);
  }

  log(level: LogLevel, data: unknown): void {
    if (level === "debug") return;
    this.#tell(`${level}: ${typeof data === "string" ? data : JSON.stringify(data)}`);
  }

  /** A yes or no can be asked for; a form with fields cannot. */
  canAsk({ method, params }: Question): boolean {
    const { requestedSchema, mode } = params ?? {};
    const { properties = {} } = (requestedSchema ?? {}) as { properties?: object };
    const isPlain = mode !== "url" && Object.keys(properties).length === 0;
    return this.#confirm !== undefined && method === "elicitation/create" && isPlain;
  }

  async ask(question: Question): Promise<unknown> {
    if (this.#confirm === undefined || !this.canAsk(question)) throw new CannotAsk(question);
    const isAllowed = await this.#confirm(String(question.params?.message));
    return isAllowed ? { action: "accept", content: {} } : { action: "decline" };
  }
}

import { OWNER } from "../../src/base/principal.ts";
import type { LogLevel } from "../../src/base/log.ts";
import {
  type Caller,
  CannotAsk,
  type Project,
  type Question,
  type Tool,
  type ToolContext,
} from "../../src/tool/tool.ts";

/**
 * A caller for tests that keeps what it is told and answers what it is asked. Like a door's own, it
 * keeps its state in private members, so that it cannot be stood in for by inheriting from it.
 */
export class SampleContext implements ToolContext {
  readonly caller: Caller;
  readonly session?: string;
  readonly folder?: string;
  roots?: () => Promise<readonly string[] | undefined>;
  project?: Project | undefined;
  readonly meta = {};
  readonly abort = new AbortController();
  readonly signal = this.abort.signal;
  readonly #answer: ((question: Question) => unknown) | undefined;
  readonly #told: unknown[] = [];
  readonly #asked: Question[] = [];

  constructor(
    options: {
      caller?: Partial<Caller>;
      session?: string;
      folder?: string;
      roots?: readonly string[];
      answer?: (question: Question) => unknown;
    } = {},
  ) {
    const caller = { door: "mcp", name: "tester", principal: OWNER, ...options.caller };
    this.caller = { client: `${caller.door} ${caller.name}`, ...caller };
    if (options.session !== undefined) this.session = options.session;
    const { roots } = options;
    if (options.folder !== undefined) this.folder = options.folder;
    if (roots !== undefined) this.roots = async () => roots;
    this.#answer = options.answer;
  }

  /** What it was told by progress and log. */
  get told(): readonly unknown[] {
    return this.#told;
  }

  get asked(): readonly Question[] {
    return this.#asked;
  }

  progress(done: number, total?: number, message?: string): void {
    this.#told.push({ done, total, message });
  }

  log(level: LogLevel, data: unknown): void {
    this.#told.push({ level, data });
  }

  canAsk(): boolean {
    return this.#answer !== undefined;
  }

  async ask(question: Question): Promise<unknown> {
    this.#asked.push(question);
    if (this.#answer === undefined) throw new CannotAsk(question);
    return this.#answer(question);
  }
}

export function sampleTool(name: string, call: Tool["call"], more: Partial<Tool> = {}): Tool {
  return { definition: { name, inputSchema: { type: "object" } }, call, ...more };
}

import { OWNER } from "../../src/base/principal.ts";
import type { LogLevel } from "../../src/base/log.ts";
import { CannotAsk, type Question, type ToolContext } from "../../src/tool/tool.ts";

export interface SampleContextOptions {
  readonly name?: string;
  /** It belongs to no session: each of its calls speaks for itself. */
  readonly isStateless?: boolean;
  readonly meta?: Record<string, unknown>;
  /** Methods that it can be asked, and its answers. */
  readonly answers?: Readonly<Record<string, (question: Question) => unknown>>;
}

/** A caller that keeps what it is told and asked. */
export class SampleContext implements ToolContext {
  readonly caller: ToolContext["caller"];
  readonly session?: string;
  readonly meta: Record<string, unknown>;
  readonly abort = new AbortController();
  readonly signal = this.abort.signal;
  readonly progressed: unknown[][] = [];
  readonly logged: [LogLevel, unknown, string | undefined][] = [];
  readonly asked: Question[] = [];
  /** Ids of the pages that it was told are done with. */
  readonly pagesDone: string[] = [];
  readonly #answers: NonNullable<SampleContextOptions["answers"]>;

  constructor(options: SampleContextOptions = {}) {
    const { name = "caller" } = options;
    this.caller = { door: "test", name, principal: OWNER, client: name };
    if (options.isStateless !== true) this.session = name;
    this.meta = options.meta ?? {};
    this.#answers = options.answers ?? {};
  }

  progress(...told: unknown[]): void {
    this.progressed.push(told.slice(0, 3));
  }

  log(level: LogLevel, data: unknown, logger?: string): void {
    this.logged.push([level, data, logger]);
  }

  pageDone(id: string): void {
    this.pagesDone.push(id);
  }

  canAsk({ method }: Question): boolean {
    return method in this.#answers;
  }

  async ask(question: Question): Promise<unknown> {
    const answer = this.#answers[question.method];
    if (answer === undefined) throw new CannotAsk(question);
    this.asked.push(question);
    return answer(question);
  }
}

import type { Deadline, Deadlines } from "../base/deadlines.ts";
import { TrunklineError } from "../base/errors.ts";
import type { LogLevel } from "../base/log.ts";
import type { Caller, Question, ToolContext } from "./tool.ts";

type Countdown = Pick<Deadlines, "start" | "restart" | "stop">;

/**
 * What a tool may do while it runs, and for how long. The time is counted from its last progress,
 * and stands still while a person is asked: a long honest piece of work is not killed.
 */
export class LimitedContext implements ToolContext {
  readonly caller: Caller;
  readonly session?: string;
  readonly projectPath?: string;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  /** Rejects when the time is up or the caller has cancelled, also for a tool that will not hear. */
  readonly stopped: Promise<never>;
  readonly #context: ToolContext;
  readonly #deadlines: Countdown;
  readonly #timeout: number;
  readonly #expire: () => void;
  #deadline: Deadline;
  #questions = 0;
  #isOver = false;

  constructor(tool: string, timeout: number, context: ToolContext, deadlines: Countdown) {
    const { caller, session, projectPath, meta } = context;
    this.caller = caller;
    if (session !== undefined) this.session = session;
    if (projectPath !== undefined) this.projectPath = projectPath;
    this.meta = meta;
    this.#context = context;
    this.#deadlines = deadlines;
    this.#timeout = timeout;
    const late = new AbortController();
    this.#expire = () => {
      const message = `'${tool}' took over ${timeout} ms without progress`;
      late.abort(new TrunklineError("timeout", message));
    };
    const signal = AbortSignal.any([context.signal, late.signal]);
    this.signal = signal;
    const stopped = Promise.withResolvers<never>();
    const stop = (): void => stopped.reject(signal.reason as Error);
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
    // Whether anyone waits for it is the owner's business.
    stopped.promise.catch(() => {});
    this.stopped = stopped.promise;
    this.#deadline = deadlines.start(timeout, this.#expire);
  }

  /** The tool has answered: the time no longer counts. */
  end(): void {
    this.#isOver = true;
    this.#deadlines.stop(this.#deadline);
  }

  progress(done: number, total?: number, message?: string): void {
    this.#deadlines.restart(this.#deadline, this.#timeout);
    this.#context.progress(done, total, message);
  }

  log(level: LogLevel, data: unknown, logger?: string): void {
    this.#context.log(level, data, logger);
  }

  canAsk(question: Question): boolean {
    return this.#context.canAsk(question);
  }

  async ask(question: Question): Promise<unknown> {
    if (this.#questions++ === 0) this.#deadlines.stop(this.#deadline);
    try {
      return await this.#context.ask(question);
    } finally {
      if (--this.#questions === 0 && !this.#isOver && !this.signal.aborted) {
        this.#deadline = this.#deadlines.start(this.#timeout, this.#expire);
      }
    }
  }
}

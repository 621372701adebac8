import { onAbort } from "../base/abort.ts";
import { Deadline } from "../base/limit/deadline.ts";
import { TrunklineError } from "../base/errors.ts";
import type { Span } from "../base/trace.ts";
import type { Caller, Project, Question, Tool, ToolContext, ToolResult } from "./tool.ts";
import type { ObservedCall } from "./call-observer.ts";

/** Calls a tool. Rejects if it makes no progress for `timeout` milliseconds, or is cancelled. */
export async function callWithin(
  timeout: number,
  tool: Tool,
  { name, args, context }: ObservedCall,
): Promise<ToolResult> {
  using limited = new LimitedContext(name, timeout, context);
  // It may have been cancelled already.
  const call = async (): Promise<ToolResult> =>
    limited.signal.aborted ? limited.over : tool.call(args, limited);
  return await Promise.race([call(), limited.over]);
}

/**
 * The context of a tool call with a timeout. The timeout restarts with each progress and pauses while
 * a person is asked, so that long work is not killed while it advances.
 */
export class LimitedContext implements ToolContext, Disposable {
  readonly caller: Caller;
  readonly session?: string;
  readonly folder?: string | undefined;
  readonly roots?: NonNullable<ToolContext["roots"]>;
  readonly extensions: ToolContext["extensions"];
  readonly project?: Project | undefined;
  span: Span | undefined;
  readonly meta: Readonly<Record<string, unknown>>;
  readonly piece?: NonNullable<ToolContext["piece"]>;
  readonly #over = Promise.withResolvers<never>();
  /** Rejects on timeout or cancellation, also when the tool ignores its signal. */
  readonly over = this.#over.promise;
  readonly #context: ToolContext;
  readonly #controller = new AbortController();
  readonly signal: AbortSignal = this.#controller.signal;
  readonly #forget: () => void;
  readonly #deadline: Deadline;
  #questions = 0;
  #isOver = false;

  constructor(tool: string, timeout: number, context: ToolContext) {
    const { caller, session, folder, project, meta } = context;
    this.caller = caller;
    if (session !== undefined) this.session = session;
    this.folder = folder;
    this.project = project;
    this.span = context.span;
    this.extensions = context.extensions;
    if (context.roots !== undefined) this.roots = async () => context.roots?.();
    this.meta = meta;
    if (context.piece !== undefined) {
      this.piece = (data, contentType) => {
        this.#deadline.restart();
        return context.piece?.(data, contentType) ?? Promise.resolve();
      };
    }
    this.#context = context;
    this.#deadline = new Deadline(timeout, () => {
      const message = `'${tool}' took over ${timeout} ms without progress`;
      this.#stop(new TrunklineError("timeout", message));
    });
    // There may be no waiter, which must not count as an unhandled rejection.
    this.#over.promise.catch(() => {});
    this.#forget = onAbort(context.signal, (reason) => this.#stop(reason));
  }

  #stop(reason: Error): void {
    this.#controller.abort(reason);
    this.#over.reject(reason);
  }

  /** The tool has answered: the timeout is cleared. */
  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#forget();
    this.#deadline.stop();
  }

  progress(...progress: Parameters<ToolContext["progress"]>): void {
    this.#deadline.restart();
    this.#context.progress(...progress);
  }

  log(...message: Parameters<ToolContext["log"]>): void {
    this.#context.log(...message);
  }

  remoteTask(taskId: string): void {
    this.#context.remoteTask?.(taskId);
  }

  pageDone(id: string): void {
    this.#context.pageDone?.(id);
  }

  canAsk(question: Question): boolean {
    return this.#context.canAsk(question);
  }

  async ask(question: Question): Promise<unknown> {
    if (this.#questions++ === 0) this.#deadline.stop();
    try {
      return await this.#context.ask(question);
    } finally {
      if (--this.#questions === 0 && !this.#isOver && !this.signal.aborted) this.#deadline.start();
    }
  }
}

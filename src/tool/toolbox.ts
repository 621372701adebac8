import { Deadlines } from "../base/deadlines.ts";
import { TrunklineError } from "../base/errors.ts";
import { mask } from "../base/mask.ts";
import { RateLimiter } from "../base/rate-limiter.ts";
import { askPerson } from "./ask-person.ts";
import type { Audit, AuditEntry } from "./audit.ts";
import { argumentProblem } from "./argument-problem.ts";
import { Policy } from "./policy.ts";
import { Registry } from "./registry.ts";
import {
  type Arguments,
  CannotAsk,
  errorResult,
  type Tool,
  type ToolContext,
  ToolFault,
  type ToolResult,
} from "./tool.ts";

export interface ToolboxOptions {
  readonly policy?: Policy;
  readonly audit?: Audit;
  /** Where a fault in a tool goes: its caller learns only that there was one. */
  readonly report?: (event: string, fields: Record<string, unknown>) => void;
}

/** One call on its way through the toolbox. */
interface Passage {
  readonly tool: Tool;
  readonly args: Arguments;
  readonly context: ToolContext;
  readonly started: number;
}

/**
 * The first waist: every tool there is, whoever brings it and whichever door it is called through.
 * A call passes the policy, the tool's schema and its limits before the tool sees it, and leaves a
 * record however it ends.
 */
export class Toolbox {
  readonly #tools = new Registry<Tool>("tool");
  readonly #rates = new WeakMap<Tool, RateLimiter>();
  readonly #deadlines = new Deadlines();
  readonly #audit: Audit | undefined;
  readonly #report: (event: string, fields: Record<string, unknown>) => void;
  policy: Policy;

  constructor(options: ToolboxOptions = {}) {
    this.policy = options.policy ?? new Policy();
    this.#audit = options.audit;
    this.#report = options.report ?? (() => {});
  }

  /** Returns how to take the tool out again. */
  add(tool: Tool): () => void {
    return this.#tools.add(tool.definition.name, tool);
  }

  get(name: string): Tool | undefined {
    return this.#tools.get(name);
  }

  /** In the order they were added, which stays the same between changes. */
  list(): readonly Tool[] {
    return this.#tools.list();
  }

  onChange(listener: () => void): () => void {
    return this.#tools.onChange(listener);
  }

  /**
   * Calls a tool. Throws "not-found" when there is none of that name, and what is the protocol's
   * business (`CannotAsk`, `ToolFault`); every other failure is a result with `isError`, in words
   * that a model can act on. Whatever need not wait does not: a
   * tool that answers at once is answered for at once.
   */
  call(name: string, args: Arguments, context: ToolContext): ToolResult | Promise<ToolResult> {
    const tool = this.#tools.get(name);
    if (tool === undefined) throw new TrunklineError("not-found", `Unknown tool: ${name}`);
    const passage: Passage = { tool, args, context, started: performance.now() };
    const { caller, projectPath } = context;
    switch (this.policy.decide({ tool: name, args, caller, projectPath })) {
      case "allow":
        return this.#check(passage);
      case "deny":
        return this.#refuse(passage, `The policy does not let ${caller.name} call '${name}'`);
      case "ask":
        return askPerson(name, args, context).then((refusal) =>
          refusal === undefined ? this.#check(passage) : this.#refuse(passage, refusal),
        );
    }
  }

  #check(passage: Passage): ToolResult | Promise<ToolResult> {
    const { tool, args, context } = passage;
    const wait = this.#rateOf(tool)?.take(context.caller.name) ?? 0;
    if (wait > 0) {
      const seconds = Math.ceil(wait / 1000);
      return this.#refuse(
        passage,
        `'${tool.definition.name}' is called too often: wait ${seconds} s`,
      );
    }
    const problem = argumentProblem(tool, args);
    if (problem instanceof Promise) return problem.then((found) => this.#checked(passage, found));
    return this.#checked(passage, problem);
  }

  #checked(passage: Passage, problem: string | undefined): ToolResult | Promise<ToolResult> {
    if (problem === undefined) return this.#run(passage);
    return this.#refuse(
      passage,
      `Invalid arguments for '${passage.tool.definition.name}': ${problem}`,
    );
  }

  #run(passage: Passage): ToolResult | Promise<ToolResult> {
    const { tool, args, context } = passage;
    const timeout = tool.limits?.timeout;
    try {
      if (timeout !== undefined) return this.#runWithin(timeout, passage);
      const result = tool.call(args, context);
      return result instanceof Promise
        ? this.#settle(passage, result)
        : this.#done(passage, result);
    } catch (error) {
      return this.#failed(passage, error);
    }
  }

  #settle(passage: Passage, result: Promise<ToolResult>): Promise<ToolResult> {
    return result.then(
      (value) => this.#done(passage, value),
      (error: unknown) => this.#failed(passage, error),
    );
  }

  /** Progress starts the time anew: a long honest piece of work is not killed. */
  #runWithin(timeout: number, passage: Passage): Promise<ToolResult> {
    const { tool, args, context } = passage;
    const late = Promise.withResolvers<never>();
    const abort = new AbortController();
    const deadline = this.#deadlines.start(timeout, () => {
      const error = new TrunklineError(
        "timeout",
        `'${tool.definition.name}' took over ${timeout} ms`,
      );
      abort.abort(error);
      late.reject(error);
    });
    const limited: ToolContext = Object.create(context, {
      signal: { value: AbortSignal.any([context.signal, abort.signal]) },
      progress: {
        value: (...told: Parameters<ToolContext["progress"]>) => {
          this.#deadlines.restart(deadline, timeout);
          context.progress(...told);
        },
      },
    }) as ToolContext;
    const work = Promise.race([(async () => tool.call(args, limited))(), late.promise]);
    return this.#settle(passage, work).finally(() => this.#deadlines.stop(deadline));
  }

  #done(passage: Passage, result: ToolResult): ToolResult {
    this.#record(passage, result.isError === true ? "error" : "ok");
    return result;
  }

  #refuse(passage: Passage, reason: string): ToolResult {
    this.#record(passage, "refused", reason);
    return errorResult(reason);
  }

  #failed(passage: Passage, error: unknown): ToolResult {
    const name = passage.tool.definition.name;
    const isCancelled = passage.context.signal.aborted;
    if (error instanceof CannotAsk || error instanceof ToolFault) {
      this.#record(passage, "error", error.message);
      throw error;
    }
    const isOurs = error instanceof TrunklineError;
    const reason = isOurs ? error.message : `'${name}' failed because of a fault in it`;
    if (!isOurs && !isCancelled) this.#report("tool.fault", { tool: name, error });
    this.#record(passage, isCancelled ? "cancelled" : "error", reason);
    return errorResult(reason);
  }

  #rateOf(tool: Tool): RateLimiter | undefined {
    const rate = tool.limits?.rate;
    if (rate === undefined) return undefined;
    let limiter = this.#rates.get(tool);
    if (limiter === undefined) this.#rates.set(tool, (limiter = new RateLimiter(rate)));
    return limiter;
  }

  #record(passage: Passage, outcome: AuditEntry["outcome"], reason?: string): void {
    if (this.#audit === undefined) return;
    const { tool, args, context, started } = passage;
    this.#audit.record({
      time: new Date().toISOString(),
      door: context.caller.door,
      caller: context.caller.name,
      session: context.session,
      project: context.projectPath,
      tool: tool.definition.name,
      arguments: mask(args),
      outcome,
      reason,
      milliseconds: Math.round((performance.now() - started) * 1000) / 1000,
    });
  }
}

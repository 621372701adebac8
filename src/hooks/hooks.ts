import type { Confine } from "../base/process/child-process.ts";
import {
  type Hook,
  type HookEvent,
  type HookSettings,
  type HookSource,
  readHooks,
} from "./hook.ts";
import { answerOf, broken, type HookAnswer } from "./hook-answer.ts";
import { runHook } from "./run-hook.ts";

/** Where the hooks of a project run. */
export interface HookSandbox {
  /** False or an error where there is none. */
  isThere(): Promise<boolean>;
  /** Lets one command in, without a network. */
  enter(): Promise<AsyncDisposable & { readonly confine: Confine }>;
}

export interface HooksOptions {
  readonly sessionId: string;
  readonly cwd: string;
  readonly settings: Readonly<Record<HookSource, HookSettings>>;
  /** The environment of each kind. */
  readonly env: (source: HookSource) => Promise<NodeJS.ProcessEnv>;
  /** Without it, hooks of a project do not run. */
  readonly sandbox?: HookSandbox | undefined;
  /** What else is to be said about the hooks. */
  readonly problems?: readonly string[];
  /** Told about each run. */
  readonly record: (run: HookRun, by: string | undefined) => void;
}

/** Something that happens, for which hooks may run. */
export interface HookOccasion {
  readonly event: HookEvent;
  /** The names that a matcher may fit: the first one is told to the hook as `tool_name` by whoever asks. */
  readonly names?: readonly string[];
  /** What hooks are told beside the session, the folder and the event. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly signal: AbortSignal;
  /** Id of the principal for whom it happens. */
  readonly by?: string | undefined;
}

/** One run of a hook, as it is recorded. */
export interface HookRun {
  readonly event: HookEvent;
  readonly source: HookSource;
  readonly command: string;
  /** The tool that was to be called, or was called. */
  readonly tool?: string | undefined;
  /** `stopped`: it ended the turn. */
  readonly outcome: "ok" | "denied" | "asked" | "changed" | "stopped" | "failed" | "cancelled";
  readonly reason?: string | undefined;
  readonly milliseconds: number;
}

/** What all hooks together say. The strictest counts: deny, then ask, then nothing. */
export interface HookVerdict {
  readonly decision?: "deny" | "ask" | undefined;
  readonly reason?: string | undefined;
  /** The changed arguments, which nobody has checked yet. */
  readonly input?: Readonly<Record<string, unknown>> | undefined;
  readonly context: readonly { readonly source: HookSource; readonly text: string }[];
  /** For the person. */
  readonly messages: readonly string[];
  readonly stop?: string | undefined;
  readonly runs: readonly HookRun[];
}

const NOTHING: HookVerdict = { context: [], messages: [], runs: [] };
/** Characters of a text for the model or the person. */
const MOST_TEXT = 10_000;
/** Characters of a reason that are recorded. */
const MOST_RECORDED = 2_000;

/**
 * The hooks of one session: the user's own, which run as the user, and those of a project that the user
 * trusts, which run in a sandbox. It knows nothing of who makes the calls.
 */
export class Hooks implements AsyncDisposable {
  /** What a person is to be told once. */
  readonly problems: readonly string[];
  readonly #options: HooksOptions;
  readonly #hooks: readonly Hook[];
  readonly #stopper = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #isSaid = false;

  constructor(options: HooksOptions) {
    const problems = [...(options.problems ?? [])];
    const { user, project } = options.settings;
    const told = (says: string): number => problems.push(says);
    this.#options = options;
    // The project's come first, so that the user's see what is really to be done.
    this.#hooks = [...readHooks(project, "project", told), ...readHooks(user, "user", told)];
    this.problems = problems;
  }

  /**
   * Runs the hooks for something that happens, each once and one after the other: what one has changed is
   * what the next one sees. None runs after one that denies it. Throws only if the signal is aborted.
   */
  async run(occasion: HookOccasion): Promise<HookVerdict> {
    const fitting = this.#fitting(occasion.event, occasion.names);
    const once = new Map(fitting.map((hook) => [`${hook.source} ${hook.command}`, hook]));
    if (once.size === 0) return NOTHING;
    const run = this.#runAll([...once.values()], occasion);
    this.#running.add(run);
    try {
      return await run;
    } finally {
      this.#running.delete(run);
    }
  }

  /** Whether a hook would run. */
  has(event: HookEvent, names?: readonly string[]): boolean {
    return this.#fitting(event, names).length > 0;
  }

  /** Ends the hooks that run. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopper.abort(new Error("The session is over."));
    await Promise.allSettled(this.#running);
  }

  #fitting(event: HookEvent, names: readonly string[] = []): Hook[] {
    return this.#hooks.filter((hook) => hook.event === event && hook.fits(names));
  }

  async #runAll(hooks: readonly Hook[], occasion: HookOccasion): Promise<HookVerdict> {
    const signal = AbortSignal.any([occasion.signal, this.#stopper.signal]);
    let verdict = NOTHING;
    for (const hook of hooks) {
      const input = { ...occasion.input, ...(verdict.input && { tool_input: verdict.input }) };
      const started = performance.now();
      const done = (outcome: HookRun["outcome"], why?: string): HookRun => {
        const { event, source, command } = hook;
        const tool = occasion.names?.[0];
        const reason = why?.slice(0, MOST_RECORDED);
        const milliseconds = Math.round(performance.now() - started);
        const run = { event, source, command, tool, outcome, reason, milliseconds };
        this.#options.record(run, occasion.by);
        return run;
      };
      let answer: HookAnswer | undefined;
      try {
        answer = await this.#answer(hook, input, signal);
      } catch (error) {
        if (signal.aborted) done("cancelled");
        throw error;
      }
      if (answer === undefined) {
        verdict = { ...verdict, messages: [...verdict.messages, ...this.#withoutSandbox()] };
        continue;
      }
      const run = done(outcomeOf(answer), answer.failure ?? answer.stop ?? answer.reason);
      verdict = merged(verdict, hook, answer, run);
      if (verdict.decision === "deny" || verdict.stop !== undefined) break;
    }
    return verdict;
  }

  /** Undefined where it cannot run, because there is no sandbox. */
  async #answer(
    hook: Hook,
    input: HookOccasion["input"],
    signal: AbortSignal,
  ): Promise<HookAnswer | undefined> {
    const { sessionId, cwd, sandbox, env } = this.#options;
    const { command, source, timeout, event } = hook;
    const isThere = source === "user" || (await sandbox?.isThere().catch(() => false));
    if (isThere !== true) return undefined;
    try {
      await using entered = new AsyncDisposableStack();
      const confined = source === "user" ? undefined : entered.use(await sandbox?.enter());
      if (source === "project" && confined === undefined) return undefined;
      const told = { session_id: sessionId, cwd, hook_event_name: event, ...input };
      const end = await runHook({
        ...{ command, cwd, timeout, signal, input: told, confine: confined?.confine },
        env: await env(source),
      });
      return answerOf(hook, end);
    } catch (error) {
      signal.throwIfAborted();
      return broken(hook, `it could not be started: ${(error as Error).message}`);
    }
  }

  #withoutSandbox(): string[] {
    if (this.#isSaid) return [];
    this.#isSaid = true;
    return ["The project's hooks do not run: there is no sandbox. `trunkline doctor` says why"];
  }
}

function outcomeOf({ decision, input, failure, stop }: HookAnswer): HookRun["outcome"] {
  if (stop !== undefined) return "stopped";
  if (decision === "deny") return "denied";
  if (failure !== undefined) return "failed";
  return decision === "ask" ? "asked" : input === undefined ? "ok" : "changed";
}

function merged(
  verdict: HookVerdict,
  { event, source, command }: Hook,
  answer: HookAnswer,
  run: HookRun,
): HookVerdict {
  const { decision, reason, input, context, message, stop, failure } = answer;
  const messages = [
    ...(failure === undefined ? [] : [`Hook for ${event} (${command}): ${failure}`]),
    ...(message === undefined
      ? []
      : [`${source === "user" ? "Hook" : "Hook of the project"}: ${message}`]),
  ].map((text) => text.slice(0, MOST_TEXT));
  const told = context === undefined ? [] : [{ source, text: context.slice(0, MOST_TEXT) }];
  return {
    decision: decision ?? verdict.decision,
    reason: decision === undefined ? verdict.reason : reason?.slice(0, MOST_TEXT),
    input: input ?? verdict.input,
    context: [...verdict.context, ...told],
    messages: [...verdict.messages, ...messages],
    stop: stop?.slice(0, MOST_TEXT),
    runs: [...verdict.runs, run],
  };
}

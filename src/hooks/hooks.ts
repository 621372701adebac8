import type { Confiner } from "../base/process/child-process.ts";
import {
  type Hook,
  type HookEvent,
  type HookSettings,
  type HookSource,
  readHooks,
} from "./hook.ts";
import { Semaphore } from "../base/limit/semaphore.ts";
import { post } from "../base/post.ts";
import { answerOf, answerTo, noAnswer, type HookAnswer } from "./hook-answer.ts";
import { runHook } from "./run-hook.ts";

/** Where the hooks of a project run. */
export interface HookSandbox {
  /** Resolves to false or rejects if there is none. */
  isThere(): Promise<boolean>;
  /** Lets one command in, without a network. */
  enter(): Promise<AsyncDisposable & { readonly confine: Confiner }>;
}

export interface HooksOptions {
  readonly sessionId: string;
  readonly cwd: string;
  readonly settings: Readonly<Partial<Record<HookSource, HookSettings>>>;
  /** The environment of each kind. */
  readonly env: (source: HookSource) => Promise<NodeJS.ProcessEnv>;
  /** Without it, hooks of a project do not run. */
  readonly sandbox?: HookSandbox | undefined;
  /** Further problems with the hooks, for the person. */
  readonly problems?: readonly string[];
  /** Told about each run. */
  readonly record: (run: HookRun, occasion: HookOccasion) => void;
  /** Finds what the headers of an address refer to. */
  readonly resolve?: (
    headers: Readonly<Record<string, string>>,
    to: URL,
  ) => Promise<Readonly<Record<string, string>>>;
}

/** Something that happens, for which hooks may run. */
export interface HookOccasion {
  readonly event: HookEvent;
  /** The names that a matcher may fit. The caller passes the first one to the hook as `tool_name`. */
  readonly names?: readonly string[];
  /** The input of hooks in addition to the session, the folder and the event. */
  readonly input: Readonly<Record<string, unknown>>;
  /** Converts an input that a hook has changed to what the next hooks see. */
  readonly changed?: (input: NonNullable<HookAnswer["input"]>) => object;
  readonly signal: AbortSignal;
  /** Id of the principal for whom it happens. */
  readonly by?: string | undefined;
  /** The hooks that have run for the same call already, here or elsewhere, and do not run again. */
  readonly ran?: Set<string> | undefined;
}

/** One run of a hook, as it is recorded. */
export interface HookRun {
  readonly event: HookEvent;
  readonly source: HookSource;
  readonly command: string;
  /** The tool that the call is for. */
  readonly tool?: string | undefined;
  /** `stopped`: it ended the turn. */
  readonly outcome: "ok" | "denied" | "asked" | "changed" | "stopped" | "failed" | "cancelled";
  readonly reason?: string | undefined;
  readonly milliseconds: number;
}

/** The combined answer of all hooks. The strictest counts: deny, then ask, then nothing. */
export interface HookVerdict extends Pick<
  HookAnswer,
  "decision" | "reason" | "input" | "output" | "stop"
> {
  readonly context: readonly { readonly source: HookSource; readonly text: string }[];
  /** For the person. */
  readonly messages: readonly string[];
  readonly runs: readonly HookRun[];
}

const NOTHING: HookVerdict = { context: [], messages: [], runs: [] };
/** Characters of a text for the model or the person. */
const MOST_TEXT = 10_000;
/** Characters of a reason that are recorded. */
const MOST_RECORDED = 2_000;
/** Bytes of an answer over HTTP. */
const MOST_ANSWER = 1024 * 1024;
/** Commands of one gateway or session that run at once. */
const MOST_AT_ONCE = 32;

/**
 * The hooks of one session: the user's own, which run as the user, and those of a project that the user
 * trusts, which run in a sandbox. This class is independent of who makes the calls.
 */
export function hooksFor(options: HooksOptions) {
  const { sessionId, cwd, sandbox } = options;
  /** Messages to show to the person once. */
  const problems = [...(options.problems ?? [])];
  // The project's hooks run first, so that the user's see the final input.
  const all = (["project", "user", "gateway"] as const).flatMap((source) =>
    readHooks(options.settings[source] ?? {}, source, (says) => problems.push(says)),
  );
  const stopper = new AbortController();
  const running = new Set<Promise<unknown>>();
  const slots = new Semaphore({ running: MOST_AT_ONCE });
  let isSaid = false;

  const fitting = (event: HookEvent, names: readonly string[] = []): Hook[] =>
    all.filter((hook) => hook.event === event && hook.fits(names));

  const ask = async (
    hook: Hook,
    { url, headers, allowPrivate }: NonNullable<Hook["http"]>,
    told: object,
    signal: AbortSignal,
  ): Promise<HookAnswer> => {
    const found = (await options.resolve?.(headers, url)) ?? headers;
    const body = Buffer.from(JSON.stringify(told));
    const answer = await post(url, {
      headers: { ...found, "content-type": "application/json", accept: "application/json" },
      ...{ body, timeout: hook.timeout, allowPrivate, signal, most: MOST_ANSWER },
    });
    return answerTo(hook, answer);
  };

  /** Undefined if the hook cannot run because there is no sandbox. */
  const answerFrom = async (
    hook: Hook,
    input: HookOccasion["input"],
    signal: AbortSignal,
    by: string | undefined,
  ): Promise<HookAnswer | undefined> => {
    const { command, source, timeout, event, http, answers } = hook;
    const isProject = source === "project";
    const isThere = !isProject || (await sandbox?.isThere().catch(() => false));
    if (isThere !== true) return undefined;
    try {
      const told = { session_id: sessionId, cwd, hook_event_name: event, ...input };
      if (answers !== undefined) return answers(told, by);
      if (http !== undefined) return await ask(hook, http, told, signal);
      using _slot = await slots.enter({ signal });
      await using entered = new AsyncDisposableStack();
      const confined = isProject ? entered.use(await sandbox?.enter()) : undefined;
      if (isProject && confined === undefined) return undefined;
      const end = await runHook({
        ...{ command, cwd, timeout, signal, input: told, confine: confined?.confine },
        env: await options.env(source),
      });
      return answerOf(hook, end);
    } catch (error) {
      signal.throwIfAborted();
      const { message } = error as Error;
      const isProgram = answers === undefined && http === undefined;
      return noAnswer(hook, isProgram ? `it could not be started: ${message}` : message);
    }
  };

  const runAll = async (hooks: readonly Hook[], occasion: HookOccasion): Promise<HookVerdict> => {
    const signal = AbortSignal.any([occasion.signal, stopper.signal]);
    let verdict = NOTHING;
    for (const hook of hooks) {
      const { input: changed, output } = verdict;
      const input = {
        ...occasion.input,
        ...(changed && { tool_input: occasion.changed?.(changed) ?? changed }),
        ...(output && { tool_response: output }),
      };
      const started = performance.now();
      const done = (outcome: HookRun["outcome"], why?: string): HookRun => {
        const { event, source, command } = hook;
        const tool = occasion.names?.[0];
        const reason = why?.slice(0, MOST_RECORDED);
        const milliseconds = Math.round(performance.now() - started);
        const run = { event, source, command, tool, outcome, reason, milliseconds };
        options.record(run, occasion);
        return run;
      };
      let answer: HookAnswer | undefined;
      try {
        answer = await answerFrom(hook, input, signal, occasion.by);
      } catch (error) {
        if (signal.aborted) done("cancelled");
        throw error;
      }
      if (answer === undefined) {
        const messages = isSaid ? verdict.messages : [...verdict.messages, NO_SANDBOX];
        isSaid = true;
        verdict = { ...verdict, messages };
        continue;
      }
      const run = done(outcomeOf(answer), answer.failure ?? answer.stop ?? answer.reason);
      verdict = merged(verdict, hook, answer, run);
      if (verdict.decision === "deny" || verdict.stop !== undefined) break;
    }
    return verdict;
  };

  return {
    problems: problems as readonly string[],

    /**
     * Runs the hooks for something that happens, each once and one after the other: what one has changed is
     * what the next one sees. None runs after one that denies it. Throws only if the signal is aborted.
     */
    async run(occasion: HookOccasion): Promise<HookVerdict> {
      const { event, names, ran = new Set() } = occasion;
      const once = new Map<string, Hook>();
      for (const hook of fitting(event, names)) {
        const key = `${event} ${hook.command}`;
        // The same command of another source is another hook, unless it has run for the same call elsewhere.
        if (!ran.has(key)) once.set(`${hook.source} ${key}`, hook);
      }
      // A project's hook ran in its sandbox, so it does not replace one of another source.
      for (const { command, source } of once.values()) {
        if (source !== "project") ran.add(`${event} ${command}`);
      }
      if (once.size === 0) return NOTHING;
      const run = runAll([...once.values()], occasion);
      running.add(run);
      return run.finally(() => running.delete(run));
    },

    /** Whether a hook would run. */
    has: (event: HookEvent, names?: readonly string[]) => fitting(event, names).length > 0,

    /** Ends the hooks that run. */
    async [Symbol.asyncDispose](): Promise<void> {
      stopper.abort(new Error("The session is over."));
      await Promise.allSettled(running);
    },
  };
}

export type Hooks = ReturnType<typeof hooksFor>;

const NO_SANDBOX =
  "The project's hooks do not run: there is no sandbox. `trunkline doctor` says why";

function outcomeOf({ decision, input, output, failure, stop }: HookAnswer): HookRun["outcome"] {
  if (stop !== undefined) return "stopped";
  if (decision === "deny") return "denied";
  if (failure !== undefined) return "failed";
  if (decision === "ask") return "asked";
  return input === undefined && output === undefined ? "ok" : "changed";
}

function merged(
  verdict: HookVerdict,
  { event, source, command }: Hook,
  answer: HookAnswer,
  run: HookRun,
): HookVerdict {
  const { decision, reason, input, output, context, message, stop, failure } = answer;
  const messages = [
    ...(failure === undefined ? [] : [`Hook for ${event} (${command}): ${failure}`]),
    ...(message === undefined
      ? []
      : [`${source === "project" ? "Hook of the project" : "Hook"}: ${message}`]),
  ].map((text) => text.slice(0, MOST_TEXT));
  const told = context === undefined ? [] : [{ source, text: context.slice(0, MOST_TEXT) }];
  return {
    decision: decision ?? verdict.decision,
    reason: decision === undefined ? verdict.reason : reason?.slice(0, MOST_TEXT),
    input: input ?? verdict.input,
    output: output ?? verdict.output,
    context: [...verdict.context, ...told],
    messages: [...verdict.messages, ...messages],
    stop: stop?.slice(0, MOST_TEXT),
    runs: [...verdict.runs, run],
  };
}

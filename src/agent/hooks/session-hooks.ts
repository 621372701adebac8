import { resolve } from "node:path";
import { Lazy } from "../../base/lazy.ts";
import { maskWhole } from "../../base/text/mask.ts";
import type { HookOccasion, HookRun, Hooks, HooksOptions, HookVerdict } from "../../hooks/hooks.ts";
import type { ContentBlock, SessionUpdate, Turn } from "../../session/agent.ts";
import type { Arguments } from "../../tool/tool.ts";
import { recordingChanges, type TurnFiles } from "../files/turn-files.ts";
import type { Mode } from "../modes.ts";
import {
  type AgentTool,
  cutText,
  CallRejectedError,
  textContent,
  type ToolAnswer,
} from "../tools/agent-tool.ts";
import { pathsOfPatch } from "../tools/patch.ts";
import { promptText } from "../turn/instructions.ts";
import type { Speaker } from "../turn/speaker.ts";
import { shellWord } from "../../base/text/shell-word.ts";

/** Opens the hooks of a session. */
export type HookOpener = (
  session: Pick<HooksOptions, "sessionId" | "cwd" | "sandbox">,
) => Promise<Hooks>;

interface SessionHooksOptions extends Pick<HooksOptions, "sessionId" | "cwd" | "sandbox"> {
  readonly open: HookOpener | undefined;
  /** Whether the session was loaded. */
  readonly isResumed: boolean;
}

/** The hooks of one session of the agent. They are read with its first turn, and stay as they were then. */
export class SessionHooks implements AsyncDisposable {
  readonly #options: SessionHooksOptions;
  readonly #hooks = new Lazy(async () => this.#options.open?.(this.#options));
  /** What hooks said when the session began; undefined as long as they have not run. */
  #context: string | undefined;
  #isSaid = false;

  constructor(options: SessionHooksOptions) {
    this.#options = options;
  }

  /** The hooks in one turn. Throws if it cannot be told which there are: one of them may be a guard. */
  async forTurn(of: Omit<TurnHooksOptions, "hooks" | "cwd">): Promise<TurnHooks | undefined> {
    const hooks = await this.#hooks.get();
    if (hooks === undefined) return undefined;
    if (!this.#isSaid) {
      this.#isSaid = true;
      for (const problem of hooks.problems) await of.speaker.notice("warning", problem);
    }
    return new TurnHooks({ ...of, hooks, cwd: this.#options.cwd });
  }

  /** What the model is told by the hooks for the start of a session, which run once. */
  async started(hooks: TurnHooks | undefined): Promise<string> {
    if (hooks === undefined) return "";
    this.#context ??= await hooks.started(this.#options.isResumed ? "resume" : "startup");
    return this.#context;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#hooks.opened())?.[Symbol.asyncDispose]();
  }
}

interface TurnHooksOptions {
  readonly hooks: Hooks;
  readonly cwd: string;
  readonly turn: Turn;
  readonly speaker: Speaker;
  readonly files: TurnFiles;
  readonly mode: () => Mode;
}

/** What hooks made of a call. */
interface HookedArguments {
  /** Changed arguments, which are to be checked again. */
  readonly args?: Arguments | undefined;
  /** Why a person has to be asked. */
  readonly asks?: string | undefined;
  /** For the model. */
  readonly context: string;
}

/** A call that hooks may run for. */
export interface CallOfTool {
  readonly tool: AgentTool;
  readonly args: Arguments;
  readonly id: string;
  readonly signal: AbortSignal;
  /** Takes the record of what ran. */
  readonly runs: HookRun[];
  /** The hooks that have run for it, including those of the gateway. */
  readonly ran: Set<string>;
}

/** Characters of a command in the session's log. */
const MOST_SHOWN = 300;
/** Characters that all hooks together tell the model at once. */
const MOST_CONTEXT = 20_000;
/** How often hooks may make the model continue in one turn. */
const MOST_GOING_ON = 5;

/** The names of Claude Code. */
const MODES: Readonly<Record<string, string>> = {
  build: "default",
  "auto-accept": "acceptEdits",
  architect: "plan",
  ask: "plan",
};

/** The hooks in one turn: tells them what happens, and the model and the person what they say. */
export class TurnHooks {
  /** Why a hook has ended the turn. */
  stopped: string | undefined;
  readonly #options: TurnHooksOptions;
  #wentOn = 0;

  constructor(options: TurnHooksOptions) {
    this.#options = options;
  }

  /** Before a call. Throws `CallRejectedError` if a hook does not allow it. */
  async before(call: CallOfTool): Promise<HookedArguments> {
    const verdict = await this.#runForEach("PreToolUse", call);
    const { decision, stop, reason = "it gave no reason" } = verdict;
    if (stop !== undefined) throw new CallRejectedError(`A hook has ended the turn: ${stop}`);
    if (decision === "deny") throw new CallRejectedError(`A hook does not allow it: ${reason}`);
    const asks = decision === "ask" ? `A hook wants you to decide: ${reason}` : undefined;
    return { args: verdict.args, asks, context: contextOf(verdict) };
  }

  /** After a call that was done. The answer, with what hooks have to say to the model. */
  async after(call: CallOfTool, answer: ToolAnswer): Promise<ToolAnswer> {
    const response = { content: [{ type: "text", text: answer.text }], isError: false };
    try {
      const verdict = await this.#runForEach("PostToolUse", call, { tool_response: response });
      const { decision, reason = "" } = verdict;
      const says = decision === "deny" ? [`A hook${ofWhom(verdict)} says: ${reason}`] : [];
      return withWords(answer, [...says, contextOf(verdict)].filter(Boolean).join("\n"));
    } catch (error) {
      // The call itself is done, also if the turn is cancelled now.
      if (call.signal.aborted) return answer;
      throw error;
    }
  }

  /**
   * Runs the hooks for a call. A guard reads `file_path`, so they run once for each file of a patch, also for
   * those that a hook puts into it, until one denies it.
   */
  async #runForEach(
    event: "PreToolUse" | "PostToolUse",
    { tool, args, id, signal, runs, ran }: CallOfTool,
    more: object = {},
  ): Promise<HookVerdict & { readonly args?: Arguments | undefined }> {
    const { cwd } = this.#options;
    const told = new Set<string | undefined>();
    let seen = asHooksSee(tool, args, cwd);
    let whole: (HookVerdict & { readonly args?: Arguments | undefined }) | undefined;
    for (;;) {
      const { names, input, isFixed, files } = seen;
      const file_path = files.find((file) => !told.has(file));
      if (whole !== undefined && (file_path === undefined || whole.stop !== undefined))
        return whole;
      const withFile = (of: Arguments): Arguments =>
        file_path === undefined ? of : { ...of, file_path };
      const verdict = await this.#run({
        ...{ event, names, signal, ran: told.size === 0 ? ran : undefined },
        input: { tool_name: names[0], tool_input: withFile(input), tool_use_id: id, ...more },
        // The next hook sees the files of what another has made of it.
        changed: (by) => withFile(asHooksSee(tool, fromHooks(tool, by), cwd).input),
      });
      told.add(file_path);
      runs.push(...verdict.runs);
      const { decision = whole?.decision, reason = whole?.reason } = verdict;
      whole = {
        ...{ ...verdict, decision, reason, args: whole?.args },
        context: [...(whole?.context ?? []), ...verdict.context],
      };
      if (event === "PreToolUse" && decision === "deny") return whole;
      if (verdict.input === undefined) continue;
      if (isFixed) {
        throw new CallRejectedError(
          "A hook would change it, which cannot be changed, so it is not done.",
        );
      }
      whole = { ...whole, args: fromHooks(tool, verdict.input) };
      seen = asHooksSee(tool, whole.args ?? args, cwd);
    }
  }

  /** What the model is told when a session begins. */
  async started(source: "startup" | "resume"): Promise<string> {
    const verdict = await this.#run({ event: "SessionStart", names: [source], input: { source } });
    await this.#show(verdict);
    return contextOf(verdict);
  }

  /** A prompt with what hooks add to it; undefined if they do not allow it. */
  async prompted(prompt: readonly ContentBlock[]): Promise<readonly ContentBlock[] | undefined> {
    const input = { prompt: promptText(prompt) };
    const verdict = await this.#run({ event: "UserPromptSubmit", input });
    await this.#show(verdict);
    if (verdict.stop !== undefined) return undefined;
    if (verdict.decision === "deny") {
      const { reason = "it gave no reason" } = verdict;
      await this.#options.speaker.notice("warning", "A hook does not allow this prompt", reason);
      return undefined;
    }
    const context = contextOf(verdict);
    return context === "" ? prompt : [...prompt, { type: "text", text: context }];
  }

  /** Why the model has to go on, although it is done; undefined if the turn may end. */
  async goesOn(): Promise<string | undefined> {
    const { speaker } = this.#options;
    const input = { stop_hook_active: this.#wentOn > 0 };
    const verdict = await this.#run({ event: "Stop", input });
    await this.#show(verdict);
    const { decision, stop, reason = "it gave no reason" } = verdict;
    if (decision !== "deny" || stop !== undefined) return undefined;
    if (++this.#wentOn > MOST_GOING_ON) {
      const says = `A hook wanted the model to go on for more than ${MOST_GOING_ON} times`;
      await speaker.notice("warning", says, reason);
      return undefined;
    }
    await speaker.notice("info", "A hook sends the model on", reason);
    return maskWhole(`(A hook${ofWhom(verdict)} says that you are not done: ${reason})`);
  }

  async #run(
    occasion: Omit<HookOccasion, "signal"> & { signal?: AbortSignal },
  ): Promise<HookVerdict> {
    const { hooks, turn, speaker, files, mode } = this.#options;
    const { event, names, signal = turn.signal } = occasion;
    const input = { permission_mode: MODES[mode().id] ?? "default", ...occasion.input };
    const run = (): Promise<HookVerdict> =>
      hooks.run({ ...occasion, input, signal, by: turn.principal.id });
    if (!hooks.has(event, names)) return run();
    // A hook may run long without a sign.
    using _ = setInterval(() => turn.progressed(), 5_000);
    // What a formatter has changed can be undone.
    const isAfter = event === "PostToolUse" || event === "Stop";
    const verdict = isAfter ? await recordingChanges(files, run) : await run();
    if (verdict.stop !== undefined) {
      this.stopped ??= verdict.stop;
      await speaker.notice("warning", "A hook has ended the turn", maskWhole(verdict.stop));
    }
    for (const message of verdict.messages) await speaker.notice("warning", maskWhole(message));
    return verdict;
  }

  /** Runs that belong to no call are shown as calls of their own. */
  async #show({ runs }: HookVerdict): Promise<void> {
    for (const run of runs) {
      const { event, command, outcome, reason } = run;
      await this.#options.speaker.update({
        sessionUpdate: "tool_call",
        toolCallId: crypto.randomUUID(),
        title: maskWhole(`Hook for ${event}: ${command}`).slice(0, MOST_SHOWN),
        kind: "execute",
        status: outcome === "failed" ? "failed" : "completed",
        content: reason === undefined ? [] : [textContent(maskWhole(reason))],
        _meta: hooksMeta([run]),
      });
    }
  }
}

/** The record of hooks in an update. */
export function hooksMeta(runs: readonly HookRun[]): Readonly<Record<string, unknown>> {
  const hooks = runs.map((run) => {
    const { command, reason } = run;
    const shown = maskWhole(command).slice(0, MOST_SHOWN);
    return { ...run, command: shown, reason: reason && maskWhole(reason) };
  });
  return { trunkline: { hooks } };
}

/** The run that an update is about, which is not part of the conversation; undefined if it is a call. */
export function hookRunOf({ sessionUpdate, name, _meta }: SessionUpdate): HookRun | undefined {
  if (sessionUpdate !== "tool_call" || name !== undefined) return undefined;
  const { trunkline } = (_meta ?? {}) as { trunkline?: { hooks?: readonly HookRun[] } };
  return trunkline?.hooks?.[0];
}

/** Whether a hook has refused the prompt of the turn. */
export function refusesPrompt({ event, outcome }: HookRun): boolean {
  return event === "UserPromptSubmit" && (outcome === "denied" || outcome === "stopped");
}

/** What hooks tell the model. Those of a project are not the person's words. */
function contextOf({ context }: HookVerdict): string {
  const texts = context.map(({ source, text }) => `(A hook${WHOSE[source]} says:)\n${text}`);
  return cutText(maskWhole(texts.join("\n\n")), MOST_CONTEXT);
}

const WHOSE = {
  user: " of the person",
  project: " of the project, not the person,",
  gateway: " of the gateway",
} as const;

/** Whose hook has decided. */
function ofWhom({ runs }: HookVerdict): string {
  return WHOSE[runs.at(-1)?.source ?? "project"];
}

/** An answer with words of hooks, for the model and the person. */
export function withWords(answer: ToolAnswer, words: string): ToolAnswer {
  if (words === "") return answer;
  const { content } = answer;
  const more = content === undefined ? {} : { content: [...content, textContent(words)] };
  return { ...answer, text: `${answer.text}\n${words}`, ...more };
}

/** A tool as hooks see it, which were written for Claude Code. */
interface HookedCall {
  /** The name that they are told, then others that a matcher may have. */
  readonly names: readonly [string, ...string[]];
  readonly input: Arguments;
  /** The input only describes what is done, so that a hook cannot change it. */
  readonly isFixed: boolean;
  /** The files of a patch. */
  readonly files: readonly string[];
}

interface KnownTool {
  readonly names: readonly [string, ...string[]];
  /** What its arguments are called there. */
  readonly members?: Readonly<Record<string, string>>;
  /** The command line that does the same, where Claude Code has no tool of its own for it. */
  readonly line?: (args: Arguments) => string;
}

const FILE = { path: "file_path" };

/** The tools of Claude Code that have the same purpose. */
const TOOLS: Readonly<Record<string, KnownTool>> = {
  run_command: {
    names: ["Bash"],
    members: { timeout_ms: "timeout", background: "run_in_background" },
  },
  // Hooks that guard commits match command lines.
  git_commit: {
    names: ["Bash"],
    line: ({ message, paths }) => {
      const names = Array.isArray(paths) && paths.length > 0 ? ["--", ...(paths as string[])] : [];
      return ["git", "commit", "-m", String(message), ...names].map(shellWord).join(" ");
    },
  },
  command_output: { names: ["BashOutput"] },
  stop_command: { names: ["KillShell"] },
  read_file: { names: ["Read"], members: { ...FILE, line: "offset" } },
  edit_file: { names: ["Edit"], members: FILE },
  multi_edit: { names: ["MultiEdit", "Edit"], members: FILE },
  write_file: { names: ["Write"], members: FILE },
  // Hooks that guard edits must see patches as well.
  apply_patch: { names: ["apply_patch", "Edit", "MultiEdit", "Write"] },
  list_files: { names: ["LS", "Glob"] },
  search_files: { names: ["Grep"] },
  web_fetch: { names: ["WebFetch"] },
  load_skill: { names: ["Skill"] },
  task: { names: ["Task", "Agent"] },
  update_plan: { names: ["TodoWrite"] },
  ask_person: { names: ["AskUserQuestion"] },
  submit_plan: { names: ["ExitPlanMode"] },
};

/** A call with the names of Claude Code, and absolute paths of files. */
function asHooksSee(tool: AgentTool, args: Arguments, cwd: string): HookedCall {
  const { name, hooked } = tool;
  if (hooked !== undefined) {
    const isFixed = hooked.input !== undefined;
    return { names: [hooked.name, name], input: hooked.input ?? args, isFixed, files: [] };
  }
  const { names, members = {}, line } = knownTool(name);
  if (line !== undefined) {
    return { names: [...names, name], input: { command: line(args) }, isFixed: true, files: [] };
  }
  const input: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(args)) {
    const member = Object.hasOwn(members, key) ? (members[key] as string) : key;
    const isFile = member === "file_path" && typeof value === "string";
    input[member] = isFile ? resolve(cwd, value) : value;
  }
  const paths = name === "apply_patch" ? pathsOfPatch(args.input) : [];
  const files = paths.map((path) => resolve(cwd, path));
  if (files.length > 0) input.file_paths = files;
  return { names: [...names, name], input, isFixed: false, files };
}

/** The arguments of a call that a hook has changed. */
function fromHooks({ name }: AgentTool, input: Arguments): Arguments {
  const { members = {} } = knownTool(name);
  const ours = new Map(Object.entries(members).map(([own, theirs]) => [theirs, own]));
  return Object.fromEntries(
    Object.entries(input).map(([key, value]) => [ours.get(key) ?? key, value]),
  );
}

function knownTool(name: string): KnownTool {
  return Object.hasOwn(TOOLS, name) ? (TOOLS[name] as KnownTool) : { names: [name] };
}

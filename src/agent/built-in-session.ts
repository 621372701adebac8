import { onAbort, untilAborted } from "../base/abort.ts";
import { endOrCancelled } from "../session/turn/end-or-cancelled.ts";
import { background } from "../base/background.ts";
import { TrunklineError } from "../base/errors.ts";
import { Lazy } from "../base/lazy.ts";
import type { Log } from "../base/log.ts";
import { OWNER } from "../base/principal.ts";
import type {
  Agent,
  AgentOpenOptions,
  AgentSession,
  PauseWish,
  SessionSettings,
  Turn,
  TurnEnd,
  TurnPart,
} from "../session/agent.ts";
import { SessionError } from "../session/session-error.ts";
import { BackgroundCommands } from "./background/background-commands.ts";
import { backgroundTools } from "./background/background-tools.ts";
import type { IdentityLookup } from "./command-environment.ts";
import { availableCommands, COMMAND_NAMES, runSlashCommand } from "./commands/commands.ts";
import { foundModels, noModelText } from "./commands/help.ts";
import { pauseWish } from "./commands/pause.ts";
import { parseCommand } from "./commands/session-commands.ts";
import { CustomCommands } from "./custom/custom-commands.ts";
import { Diagnostics } from "./diagnostics/diagnostics.ts";
import type { CommandSandbox, CommandSandboxOpener } from "./files/command-sandbox.ts";
import { Journal } from "./files/journal.ts";
import { type HookOpener, SessionHooks, type TurnHooks } from "./hooks/session-hooks.ts";
import { SeenFiles } from "./files/seen-files.ts";
import { TurnFiles } from "./files/turn-files.ts";
import { Workspace } from "./files/workspace.ts";
import type { InstalledAgent } from "./installed-agents.ts";
import { Memory, rememberTool } from "./memory/memory.ts";
import type { ModelEntry, ModelSource } from "./models/models.ts";
import type { Mode } from "./modes.ts";
import { SessionChoices } from "./session-choices.ts";
import { SessionTools, type SessionToolsOptions } from "./session-tools.ts";
import { Subagents } from "./subagent/subagents.ts";
import type { AgentTool } from "./tools/agent-tool.ts";
import { applyPatch } from "./tools/edit-tools.ts";
import { askPerson, submitPlan } from "./tools/person-tools.ts";
import { CallCancelled, ToolRunner } from "./tools/tool-runner.ts";
import { RETRY, type RetryLimits } from "./turn/ask-model.ts";
import { compactConversation, Conversation, TurnUsage, writtenBy } from "./turn/compact.ts";
import { historyMessages } from "./turn/history-messages.ts";
import {
  FolderInstructions,
  gitState,
  instructionsFor,
  modeText,
  projectInstructions,
  promptText,
  typedText,
} from "./turn/instructions.ts";
import { TurnRun } from "./turn/run-turn.ts";
import { Speaker } from "./turn/speaker.ts";

export interface BuiltInAgentOptions extends Omit<SessionToolsOptions, "timeout"> {
  readonly models: ModelSource;
  /** The data folder. */
  readonly data: string;
  /** Folders of the owner that may have `commands` and `skills`. */
  readonly userFolders?: readonly string[];
  /** The owner's notes for all projects. */
  readonly memoryFile?: string | undefined;
  /** Files and folders of Trunkline itself, which no tool may read or write. */
  readonly own?: readonly string[];
  /** Finds the identity under which commands run git. */
  readonly actsAs?: IdentityLookup;
  /** Opens the sandbox that commands run in. Without it, they run as they are. */
  readonly sandbox?: CommandSandboxOpener | undefined;
  /** Opens the hooks of a session, with its first turn. */
  readonly hooks?: HookOpener | undefined;
  /** Agents of others on this machine, for people who have no model. */
  readonly installed?: () => readonly InstalledAgent[];
  readonly limits?: Partial<AgentLimits>;
}

interface AgentLimits {
  /** Requests to the model in one turn. */
  readonly maxSteps: number;
  /** Milliseconds for a tool that has no timeout of its own. */
  readonly toolTimeout: number;
  /** Milliseconds that opening a session waits for the lists of models. Turns wait four times that for tools. */
  readonly firstList: number;
  readonly retry: RetryLimits;
  /** Milliseconds that an edit waits for what it has broken. */
  readonly diagnostics?: number;
}

const LIMITS: AgentLimits = {
  maxSteps: 100,
  toolTimeout: 120_000,
  firstList: 500,
  retry: RETRY,
};

/**
 * Milliseconds after which the models of last time are listed anew: to ask for them takes time that would
 * delay the answers to `session/new` and to the first prompt.
 */
const REFRESH_AFTER = 2_000;

/** The agent that is part of Trunkline: a language model with tools, or commands without one. */
export class BuiltInAgent implements Agent {
  readonly name = "trunkline";
  readonly #options: BuiltInAgentOptions;
  readonly #limits: AgentLimits;

  constructor(options: BuiltInAgentOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
  }

  async open(options: AgentOpenOptions): Promise<AgentSession> {
    if (options.imports !== undefined) throw noneToImport(options.imports.id);
    const { models } = this.#options;
    const isKnown = (await models.recall?.()) === true;
    if (!isKnown) {
      // Local providers answer at once; the models of others are added when they answer.
      const late = AbortSignal.timeout(this.#limits.firstList);
      await untilAborted(models.refresh(), late).catch(() => {});
    }
    const session = await BuiltInSession.open(options, { ...this.#options, limits: this.#limits });
    if (isKnown) session.refreshModels(REFRESH_AFTER);
    return session;
  }
}

/** It stores nothing beside the sessions that are ours already. */
function noneToImport(id: string): SessionError {
  const why = "the built-in agent has no other sessions than those of `trunkline session list`";
  return new SessionError("session-not-found", `Cannot load session '${id}': ${why}.`);
}

type SessionParts = BuiltInAgentOptions & { readonly limits: AgentLimits };

/** Milliseconds that a cancelled turn has to clean up. */
const STOP_GRACE = 2_000;

/** Slash commands do not use the tools of the model. */
const NO_TOOLS: ReadonlyMap<string, AgentTool> = new Map();

/** The parts that one turn works with. */
interface TurnTools {
  readonly speaker: Speaker;
  readonly files: TurnFiles;
  readonly runner: ToolRunner;
  readonly customCommands: CustomCommands;
  readonly hooks: TurnHooks | undefined;
}

interface ModelTurnTools extends TurnTools {
  readonly subagents: Subagents;
  readonly tools: ReadonlyMap<string, AgentTool>;
}

/** One session of the built-in agent. */
class BuiltInSession implements AgentSession {
  readonly #options: AgentOpenOptions;
  readonly #parts: SessionParts;
  readonly #workspace: Workspace;
  readonly #journal: Journal;
  readonly #sandbox: CommandSandbox | undefined;
  readonly #diagnostics: Diagnostics;
  readonly #hooks: SessionHooks;
  readonly #memory: Memory;
  readonly #log: Log;
  readonly #tools: SessionTools;
  readonly #choices: SessionChoices;
  readonly #conversation = new Lazy(() => this.#recall());
  readonly #customCommands = new Lazy(() => this.#openCustomCommands());
  readonly #folderInstructions = new FolderInstructions();
  readonly #background = new BackgroundCommands();
  /** The tool calls that are running, by their ids. */
  readonly #running = new Map<string, AbortController>();
  readonly #seen = new SeenFiles();
  #gitState: string | undefined;
  readonly #instructions: string;
  #isOver = false;
  #refresh: NodeJS.Timeout | undefined;

  private constructor(options: AgentOpenOptions, parts: SessionParts) {
    const { sessionId, cwd, additionalDirectories, log, revoked } = options;
    const { models, data } = parts;
    this.#options = options;
    this.#parts = parts;
    this.#workspace = new Workspace(cwd, additionalDirectories, parts.own);
    this.#instructions = instructionsFor(this.#workspace);
    this.#journal = new Journal(data, sessionId);
    this.#sandbox = parts.sandbox?.(this.#workspace.roots);
    this.#diagnostics = new Diagnostics(cwd, this.#sandbox, log, parts.limits.diagnostics);
    // Like the owner's commands, these notes are not for other people's sessions.
    this.#memory = new Memory(options.owner === OWNER.id ? parts.memoryFile : undefined);
    const isResumed = options.history !== undefined;
    this.#hooks = new SessionHooks({
      ...{ sessionId, cwd, isResumed },
      sandbox: this.#sandbox,
      open: parts.hooks,
    });
    this.#log = log;
    onAbort(revoked, () => background(this.#hooks[Symbol.asyncDispose](), "Ending hooks"));
    onAbort(revoked, () => background(this.#background[Symbol.asyncDispose](), "Ending commands"));
    this.#tools = new SessionTools(options, { ...parts, timeout: parts.limits.firstList * 4 });
    this.#choices = new SessionChoices(options, models, () => this.#tools.begin());
  }

  static async open(options: AgentOpenOptions, parts: SessionParts): Promise<BuiltInSession> {
    const session = new BuiltInSession(options, parts);
    const commands = availableCommands();
    options.update({ sessionUpdate: "available_commands_update", availableCommands: commands });
    // Reading the files of the project is not waited for.
    session.#refreshCustomCommands().catch((error: unknown) => {
      options.log.warn("agent.customs-failed", { error });
    });
    return session;
  }

  get settings(): SessionSettings {
    return this.#choices.settings;
  }

  async prompt(turn: Turn): Promise<TurnEnd> {
    if (turn.signal.aborted) return { stopReason: "cancelled" };
    // ACP prompt-turn § Cancellation: the turn must end, even if a client or a tool never answers.
    const end = endOrCancelled(this.#work(turn), turn.signal, STOP_GRACE);
    return await end.finally(() => this.#background.turnEnded());
  }

  async #work(turn: Turn): Promise<TurnEnd> {
    const speaker = new Speaker(turn);
    const journal = this.#journal.begin();
    const files = new TurnFiles({
      workspace: this.#workspace,
      client: () => turn.client,
      journal,
      seen: this.#seen,
    });
    const typed = parseCommand(typedText(turn.prompt));
    const subagents = new Subagents();
    // Models of OpenAI were trained to write patches; others make more mistakes with them than with edits.
    const patch = applyPatch(() => /^openai\/|\bgpt-|codex/i.test(this.#choices.model.id));
    const plan = submitPlan(
      () => this.#choices.mode.id === "architect",
      (modeId) => this.#choices.setMode(modeId, true),
    );
    const lasting = [...backgroundTools(this.#background), rememberTool(this.#memory)];
    const ofTurn = [...lasting, subagents.tool, patch, askPerson, plan];
    try {
      const customCommands = await this.#refreshCustomCommands();
      const custom =
        typed === undefined ? undefined : await customCommands.promptOf(typed, turn.prompt);
      const command = custom === undefined ? typed : undefined;
      if (command === undefined) await this.#choices.decide(speaker);
      const isForModel = command === undefined && this.#choices.model.open !== undefined;
      const tools = isForModel
        ? customCommands.addTools(await this.#tools.gather(speaker, turn, ofTurn))
        : NO_TOOLS;
      const mode = (): Mode => this.#choices.mode;
      const hooks = await this.#hooks.forTurn({ turn, speaker, files, mode });
      const runner = this.#runner(turn, { speaker, files, hooks }, tools);
      const parts = { speaker, files, runner, customCommands, hooks };
      if (isForModel) {
        return await this.#converse(turn, custom ?? turn.prompt, { ...parts, subagents, tools });
      }
      if (command === undefined && needsModel(turn)) {
        const { models, installed } = this.#parts;
        throw new TrunklineError("unavailable", noModelText(models, installed?.() ?? []));
      }
      await this.#tools.reportServers(speaker);
      return await this.#runCommand(turn, command, parts);
    } catch (error) {
      if (turn.signal.aborted) return { stopReason: "cancelled" };
      throw error;
    }
  }

  isCommand(prompt: Turn["prompt"]): boolean {
    const name = parseCommand(typedText(prompt))?.name;
    // These ask the model.
    if (name === "compact" || name === "commit") return false;
    return name !== undefined && COMMAND_NAMES.has(name);
  }

  async cancelPart({ kind, id }: TurnPart): Promise<boolean> {
    const call = kind === "tool_call" ? this.#running.get(id) : undefined;
    call?.abort(new CallCancelled());
    return call !== undefined;
  }

  pausing(prompt: Turn["prompt"]): PauseWish | undefined {
    return pauseWish(prompt);
  }

  setMode(modeId: string): Promise<void> {
    return this.#choices.setMode(modeId);
  }

  setModel(modelId: string): Promise<void> {
    return this.#choices.setModel(modelId);
  }

  setConfigOption(id: string, value: unknown): Promise<void> {
    return this.#choices.setConfigOption(id, value);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    clearTimeout(this.#refresh);
    this.#choices[Symbol.dispose]();
    // Before the sandbox that they run in.
    await this.#diagnostics[Symbol.asyncDispose]();
    await this.#hooks[Symbol.asyncDispose]();
    await this.#background[Symbol.asyncDispose]();
    await this.#tools[Symbol.asyncDispose]();
    await this.#sandbox?.[Symbol.asyncDispose]();
  }

  /** Lists models anew after that many milliseconds, unless the session is over. */
  refreshModels(milliseconds: number): void {
    const refresh = (): void => background(this.#parts.models.refresh(), "Listing models");
    this.#refresh = setTimeout(refresh, milliseconds);
  }

  async #compact(turn: Turn, speaker: Speaker, usage: TurnUsage): Promise<string | undefined> {
    const model = this.#choices.model;
    if (!canAnswer(model)) return "Cannot compact the conversation: no model is in use.\n";
    const conversation = await this.#conversation.get();
    if (conversation.messages.length < 2) return "There is nothing to compact yet.\n";
    const why = "The conversation was compacted";
    const log = this.#log;
    await compactConversation({ turn, model, conversation, speaker, usage, log, why });
    return undefined;
  }

  async #write(
    turn: Turn,
    { speaker, usage }: { readonly speaker: Speaker; readonly usage: TurnUsage },
    instructions: string,
    prompt: string,
  ): Promise<string | undefined> {
    await this.#choices.decide(speaker);
    const { model } = this.#choices;
    if (!canAnswer(model)) return undefined;
    try {
      const written = await writtenBy(await model.open(), instructions, prompt, turn.signal);
      await usage.spent(model, written.usage);
      return written.text;
    } catch (error) {
      turn.signal.throwIfAborted();
      this.#log.warn("agent.not-written", { error });
      return undefined;
    }
  }

  async #openCustomCommands(): Promise<CustomCommands> {
    const { cwd, owner } = this.#options;
    // Sessions of other people do not get the owner's commands and skills.
    const user = owner === OWNER.id ? (this.#parts.userFolders ?? []) : [];
    return new CustomCommands({ cwd, user, taken: COMMAND_NAMES });
  }

  /** Looks for commands and skills again, and tells clients if there are other commands. */
  async #refreshCustomCommands(): Promise<CustomCommands> {
    const customCommands = await this.#customCommands.get();
    if ((await customCommands.refresh()) && !this.#isOver) {
      const commands = availableCommands(customCommands.commands);
      const sessionUpdate = "available_commands_update";
      this.#options.update({ sessionUpdate, availableCommands: commands });
    }
    return customCommands;
  }

  async #converse(
    turn: Turn,
    typed: Turn["prompt"],
    { speaker, files, runner, customCommands, hooks, subagents, tools }: ModelTurnTools,
  ): Promise<TurnEnd> {
    const { limits } = this.#parts;
    const model = this.#choices.model as OpenableModel;
    const started = await this.#hooks.started(hooks);
    const prompt = hooks === undefined ? typed : await hooks.prompted(typed);
    if (prompt === undefined || hooks?.stopped !== undefined) return { stopReason: "refusal" };
    const [project, memory, conversation, git] = await Promise.all([
      projectInstructions(files),
      this.#memory.instructions(files),
      this.#conversation.get(),
      this.#gitState ?? gitState(this.#workspace.cwd, turn.signal),
    ]);
    this.#gitState = git;
    const folders = this.#folderInstructions;
    const { maxSteps } = limits;
    const options = {
      turn,
      prompt,
      model,
      renew: () => this.#renewed(model.id),
      conversation,
      usage: new TurnUsage(conversation, speaker),
      instructions: () => ({
        agent: this.#instructions,
        git,
        project,
        memory,
        hooks: started,
        skills: customCommands.instructions.trim(),
        folders: folders.text.trim(),
        background: this.#background.instructions.trim(),
        // Last, as the part that changes most often.
        mode: modeText(this.#choices.mode),
      }),
      cacheKey: this.#options.sessionId,
      speaker,
      runner,
      prompted: hooks && ((steering: Turn["prompt"]) => hooks.prompted(steering)),
      goesOn: hooks && (() => hooks.goesOn()),
      retry: limits.retry,
      thinking: this.#choices.thinking,
      steps: { left: maxSteps, most: maxSteps },
      log: this.#log,
    };
    subagents.begin({
      options,
      tools,
      runner: (nested, speaker, own) =>
        this.#runner(nested, { speaker, files: files.forSubagent(), hooks }, own),
    });
    return new TurnRun(options).run();
  }

  async #renewed(id: string): Promise<OpenableModel | undefined> {
    const { models } = this.#parts;
    await models.renewKeys?.();
    const found = models.list().find((each) => each.id === id);
    return found !== undefined && canAnswer(found) ? found : undefined;
  }

  async #runCommand(
    turn: Turn,
    command: ReturnType<typeof parseCommand>,
    { speaker, files, runner, customCommands }: TurnTools,
  ): Promise<TurnEnd> {
    const conversation = await this.#conversation.get();
    const usage = new TurnUsage(conversation, speaker);
    const { reviews, models } = this.#parts;
    const context = { turn, speaker, files, runner, journal: this.#journal, reviews };
    const said = await runSlashCommand(command, {
      ...context,
      custom: customCommands.commands,
      background: this.#background,
      memory: this.#memory,
      choices: this.#choices,
      compact: () => this.#compact(turn, speaker, usage),
      write: (instructions, prompt) => this.#write(turn, { speaker, usage }, instructions, prompt),
      failures: models.failures,
      found: foundModels(models),
      installed: this.#parts.installed?.() ?? [],
    });
    if (said !== undefined) await speaker.text(said);
    // The model that answers next knows what the command did.
    conversation.add({ role: "user", content: promptText(turn.prompt) || "(Nothing.)" });
    conversation.add({ role: "assistant", content: speaker.said || "(Done.)" });
    return usage.end("end_turn");
  }

  async #recall(): Promise<Conversation> {
    const { history } = this.#options;
    if (history === undefined) return new Conversation();
    return new Conversation(await historyMessages(history));
  }

  #runner(
    turn: Turn,
    { speaker, files, hooks }: Pick<TurnTools, "speaker" | "files" | "hooks">,
    tools: ReadonlyMap<string, AgentTool>,
  ): ToolRunner {
    const { limits, actsAs } = this.#parts;
    return new ToolRunner({
      turn,
      speaker,
      files,
      tools,
      groups: this.#tools.groups,
      mode: () => this.#choices.mode,
      sessionId: this.#options.sessionId,
      log: this.#log,
      timeout: limits.toolTimeout,
      actsAs,
      sandbox: this.#sandbox,
      diagnostics: this.#diagnostics,
      hooks,
      background: this.#background,
      running: this.#running,
      workedOn: (path) => this.#folderInstructions.workedOn(path, files),
    });
  }
}

type OpenableModel = ModelEntry & { readonly open: NonNullable<ModelEntry["open"]> };

/** Whether the client wants a task done, or an error: at a terminal an explanation looks like success. */
function needsModel({ _meta }: Turn): boolean {
  const { trunkline } = (_meta ?? {}) as { readonly trunkline?: { readonly needsModel?: unknown } };
  return trunkline?.needsModel === true;
}

function canAnswer(model: ModelEntry): model is OpenableModel {
  return model.open !== undefined;
}

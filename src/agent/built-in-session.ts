import { TrunklineError } from "../base/errors.ts";
import { Lazy } from "../base/lazy.ts";
import type { Log } from "../base/log.ts";
import { OWNER } from "../base/principal.ts";
import type {
  AgentOpenOptions,
  AgentSession,
  SessionSettings,
  Turn,
  TurnEnd,
} from "../session/agent.ts";
import type { AgentLimits, BuiltInAgentOptions } from "./built-in-agent.ts";
import { availableCommands, COMMAND_NAMES, runSlashCommand } from "./commands/commands.ts";
import { parseCommand } from "./commands/slash-command.ts";
import type { Customs } from "./custom/customs.ts";
import type { CommandSandbox } from "./files/command-sandbox.ts";
import { Journal } from "./files/journal.ts";
import { Workspace } from "./files/workspace.ts";
import { TurnFiles } from "./files/turn-files.ts";
import { findModel, type ModelEntry } from "./models/models.ts";
import { FIRST_MODE, type Mode, MODES, modeOf } from "./modes.ts";
import { settingsOf } from "./session-settings.ts";
import { SessionTools } from "./session-tools.ts";
import type { AgentTool } from "./tools/agent-tool.ts";
import { ToolRunner } from "./tools/tool-runner.ts";
import { Conversation } from "./turn/conversation.ts";
import { FolderInstructions } from "./turn/folder-instructions.ts";
import { promptText, typedText } from "./turn/prompt-message.ts";
import { Speaker } from "./turn/speaker.ts";

export type SessionParts = BuiltInAgentOptions & { readonly limits: AgentLimits };

/** Milliseconds that a cancelled turn has to clean up. */
const STOP_GRACE = 2_000;

/** Slash commands do not use the tools of the model. */
const NO_TOOLS: ReadonlyMap<string, AgentTool> = new Map();

/** The parts that one turn works with. */
interface TurnTools {
  readonly speaker: Speaker;
  readonly files: TurnFiles;
  readonly runner: ToolRunner;
  readonly customs: Customs;
}

/** One session of the built-in agent. */
export class BuiltInSession implements AgentSession {
  readonly #options: AgentOpenOptions;
  readonly #parts: SessionParts;
  readonly #workspace: Workspace;
  readonly #journal: Journal;
  readonly #sandbox: CommandSandbox | undefined;
  readonly #log: Log;
  readonly #tools: SessionTools;
  readonly #stopListening: () => void;
  readonly #conversation = new Lazy(() => this.#recall());
  readonly #customs = new Lazy(() => this.#openCustoms());
  readonly #folderInstructions = new FolderInstructions();
  #isOver = false;
  #mode: Mode;
  #model: ModelEntry;
  /** No model was chosen or used yet, so the first available one is taken. */
  #isUndecided: boolean;
  /** A model that was chosen before, but is not available. */
  #missing: string | undefined;

  private constructor(options: AgentOpenOptions, parts: SessionParts) {
    const { sessionId, cwd, additionalDirectories, chosen, log } = options;
    const { models, data } = parts;
    this.#options = options;
    this.#parts = parts;
    this.#workspace = new Workspace(cwd, additionalDirectories);
    this.#journal = new Journal(data, sessionId);
    this.#sandbox = parts.sandbox?.(this.#workspace.roots);
    this.#log = log;
    this.#mode = modeOf(chosen.modeId ?? textOf(chosen.configOptions?.mode)) ?? FIRST_MODE;
    const wanted = chosen.modelId ?? textOf(chosen.configOptions?.model);
    const found = models.list().find(({ id }) => id === wanted);
    this.#model = found ?? models.first();
    this.#missing = found === undefined ? wanted : undefined;
    this.#isUndecided = wanted === undefined;
    this.#tools = new SessionTools(options, {
      ...parts,
      timeout: parts.limits.firstList * 4,
    });
    this.#use(this.#model);
    this.#stopListening = models.onChange(() => {
      if (this.#isUndecided) this.#use(models.first());
      this.#tellOptions();
    });
  }

  static async open(options: AgentOpenOptions, parts: SessionParts): Promise<BuiltInSession> {
    const session = new BuiltInSession(options, parts);
    const commands = availableCommands();
    options.update({ sessionUpdate: "available_commands_update", availableCommands: commands });
    // Reading the files of the project is not waited for.
    session.#refreshCustoms().catch((error: unknown) => {
      options.log.warn("agent.customs-failed", { error });
    });
    return session;
  }

  get settings(): SessionSettings {
    return settingsOf(this.#mode, this.#model, this.#parts.models.list());
  }

  async prompt(turn: Turn): Promise<TurnEnd> {
    if (turn.stop.signal.aborted) return { stopReason: "cancelled" };
    const over = Promise.withResolvers<TurnEnd>();
    let timer: NodeJS.Timeout | undefined;
    const listener = {
      // ACP prompt-turn § Cancellation: the turn must end, even if a client or a tool never answers.
      stopped: () => {
        timer = setTimeout(over.resolve, STOP_GRACE, { stopReason: "cancelled" });
      },
    };
    turn.stop.add(listener);
    try {
      return await Promise.race([this.#work(turn), over.promise]);
    } finally {
      turn.stop.remove(listener);
      clearTimeout(timer);
    }
  }

  async #work(turn: Turn): Promise<TurnEnd> {
    const speaker = new Speaker(turn);
    const journal = this.#journal.begin();
    const files = new TurnFiles({ workspace: this.#workspace, client: () => turn.client, journal });
    const typed = parseCommand(typedText(turn.prompt));
    try {
      const customs = await this.#refreshCustoms();
      const custom = typed === undefined ? undefined : await customs.promptOf(typed, turn.prompt);
      const command = custom === undefined ? typed : undefined;
      if (command === undefined) await this.#decide(speaker);
      const isForModel = command === undefined && this.#model.open !== undefined;
      const tools = isForModel
        ? customs.addTools(await this.#tools.gather(speaker, turn))
        : NO_TOOLS;
      const runner = this.#runner(turn, { speaker, files }, tools);
      if (isForModel) {
        const prompt = custom ?? turn.prompt;
        return await this.#converse(turn, prompt, { speaker, files, runner, customs });
      }
      await this.#tools.reportServers(speaker);
      await this.#runCommand(turn, command, { speaker, files, runner, customs });
      return { stopReason: "end_turn" };
    } catch (error) {
      if (turn.stop.signal.aborted) return { stopReason: "cancelled" };
      throw error;
    }
  }

  async setMode(modeId: string): Promise<void> {
    const mode = modeOf(modeId);
    if (mode === undefined) {
      const ids = MODES.map(({ id }) => id).join(", ");
      const says = `Cannot use the mode '${modeId.slice(0, 100)}': no such mode. There are: ${ids}.`;
      throw new TrunklineError("not-found", says);
    }
    this.#mode = mode;
    this.#options.update({ sessionUpdate: "current_mode_update", currentModeId: mode.id });
    this.#tellOptions();
  }

  async setModel(modelId: string): Promise<void> {
    this.#use(findModel(this.#parts.models, modelId));
    this.#isUndecided = false;
    this.#missing = undefined;
    this.#tellOptions();
  }

  async setConfigOption(id: string, value: unknown): Promise<void> {
    if (id === "mode") return this.setMode(String(value));
    if (id === "model") return this.setModel(String(value));
    throw new TrunklineError(
      "not-found",
      `There is no option '${id.slice(0, 100)}'. There are: mode, model.`,
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    this.#stopListening();
    await this.#tools[Symbol.asyncDispose]();
    await this.#sandbox?.[Symbol.asyncDispose]();
  }

  #use(model: ModelEntry): void {
    this.#model = model;
    if (model.open !== undefined) this.#tools.begin();
  }

  /** Waits for slow providers before the turn goes without the chosen model. */
  async #decide(speaker: Speaker): Promise<void> {
    const { models } = this.#parts;
    const isOpen = this.#isUndecided && this.#model.open === undefined;
    if (isOpen || this.#missing !== undefined) await models.refresh();
    const found = models.list().find(({ id }) => id === this.#missing);
    if (found !== undefined) this.#use(found);
    else if (this.#missing !== undefined) {
      const says = `The model '${this.#missing}' is not available; ${this.#model.name} answers instead`;
      await speaker.notice("warning", says);
    }
    this.#missing = undefined;
    if (this.#model.open !== undefined) this.#isUndecided = false;
  }

  #tellOptions(): void {
    const { configOptions = [] } = this.settings;
    this.#options.update({ sessionUpdate: "config_option_update", configOptions });
  }

  async #openCustoms(): Promise<Customs> {
    const { cwd, owner } = this.#options;
    const { Customs } = await import("./custom/customs.ts");
    // The owner's own files are nobody else's business.
    const user = owner === OWNER.id ? (this.#parts.userFolders ?? []) : [];
    return new Customs({ cwd, user, taken: COMMAND_NAMES });
  }

  /** Looks for commands and skills again, and tells clients if there are other commands. */
  async #refreshCustoms(): Promise<Customs> {
    const customs = await this.#customs.get();
    if ((await customs.refresh()) && !this.#isOver) {
      const commands = availableCommands(customs.commands);
      const sessionUpdate = "available_commands_update";
      this.#options.update({ sessionUpdate, availableCommands: commands });
    }
    return customs;
  }

  async #converse(
    turn: Turn,
    prompt: Turn["prompt"],
    { speaker, files, runner, customs }: TurnTools,
  ): Promise<TurnEnd> {
    const { limits } = this.#parts;
    const model = this.#model as ModelEntry & { open: NonNullable<ModelEntry["open"]> };
    const [{ TurnRun }, { instructionsFor, projectInstructions }] = await Promise.all([
      import("./turn/run-turn.ts"),
      import("./turn/instructions.ts"),
    ]);
    const own = `${await projectInstructions(files)}${customs.instructions}`;
    const folders = this.#folderInstructions;
    const run = new TurnRun({
      turn,
      prompt,
      model,
      conversation: await this.#conversation.get(),
      instructions: () => `${instructionsFor(this.#workspace, this.#mode)}${own}${folders.text}`,
      speaker,
      runner,
      retry: limits.retry,
      maxSteps: limits.maxSteps,
      log: this.#log,
    });
    return run.run();
  }

  async #runCommand(
    turn: Turn,
    command: ReturnType<typeof parseCommand>,
    { speaker, files, runner, customs }: TurnTools,
  ): Promise<void> {
    const { data, reviews, models } = this.#parts;
    const context = { turn, speaker, files, runner, journal: this.#journal, data, reviews };
    const found = models.list().flatMap(({ id, isFound }) => (isFound === true ? [id] : []));
    await runSlashCommand(command, {
      ...context,
      custom: customs.commands,
      model: this.#model,
      failures: models.failures,
      found,
    });
    // The model that answers next knows what the command did.
    const conversation = await this.#conversation.get();
    conversation.add({ role: "user", content: promptText(turn.prompt) || "(Nothing.)" });
    conversation.add({ role: "assistant", content: speaker.said || "(Done.)" });
  }

  async #recall(): Promise<Conversation> {
    const { history } = this.#options;
    if (history === undefined) return new Conversation();
    const { historyMessages } = await import("./turn/history-messages.ts");
    return new Conversation(await historyMessages(history));
  }

  #runner(
    turn: Turn,
    { speaker, files }: Pick<TurnTools, "speaker" | "files">,
    tools: ReadonlyMap<string, AgentTool>,
  ): ToolRunner {
    const { limits, models, actsAs } = this.#parts;
    return new ToolRunner({
      turn,
      speaker,
      files,
      tools,
      groups: this.#tools.groups,
      mode: () => this.#mode,
      sessionId: this.#options.sessionId,
      log: this.#log,
      timeout: limits.toolTimeout,
      secrets: models.secrets,
      actsAs,
      sandbox: this.#sandbox,
      workedOn: (path) => this.#folderInstructions.workedOn(path, files),
    });
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

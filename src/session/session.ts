import { TrunklineError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import type {
  AgentSession,
  ChosenSettings,
  ContentBlock,
  Meta,
  SessionSettings,
  SessionUpdate,
  TurnClient,
  TurnEnd,
} from "./agent.ts";
import { Audience } from "./audience.ts";
import { clientServices } from "./client-services.ts";
import type { SessionClient } from "./client.ts";
import type { EndEvent } from "./event.ts";
import type { SessionLimits } from "./limits.ts";
import type { PermissionOutcome, PermissionRequest } from "./permission.ts";
import { PermissionDesk } from "./permission-desk.ts";
import { updatesOf } from "./replay.ts";
import { RunningTurn, type TurnHost } from "./running-turn.ts";
import { SessionError } from "./session-error.ts";
import { chosenAfter, type ChosenSetting, inBothForms } from "./settings.ts";
import type { HeldSession, RuleStore, SessionStore } from "./store.ts";
import { titleOf } from "./title.ts";
import { Transcript } from "./transcript.ts";

export interface SessionOptions {
  readonly store: SessionStore;
  readonly rules: RuleStore | undefined;
  readonly limits: SessionLimits;
  readonly log: Log;
  readonly held: HeldSession;
  readonly cwd: string;
  /** Records who permitted what. */
  readonly audit: (entry: object) => void;
}

export interface PromptOptions {
  readonly prompt: readonly ContentBlock[];
  readonly client?: SessionClient | undefined;
  readonly meta?: Meta | undefined;
  /** What becomes of it while another is worked on; it is refused, if that is not said. */
  readonly whileRunning?: "steer" | "queue" | undefined;
  /** Hears that it is part of the conversation now, and under which id. */
  readonly inserted?: ((messageId: string) => void) | undefined;
  /** Whether it still is wanted, once another is done. */
  readonly isWanted?: () => boolean;
}

/** What the session keeps about itself beside its events. */
interface Notes {
  /** Who began it, where the transport knew. */
  readonly owner?: string;
  readonly chosen?: ChosenSettings;
  readonly memory?: unknown;
  /** The turn that is running, to be found interrupted by whoever opens the session next. */
  readonly turn?: string | undefined;
}

/**
 * A conversation with an agent. It outlives its connections: clients attach and detach, several at
 * once, while turns go on. Everything that is said is on disk before anybody sees it.
 */
export class Session implements TurnHost {
  readonly id: string;
  readonly cwd: string;
  readonly #options: SessionOptions;
  readonly #key: number;
  readonly #audience: Audience;
  readonly #transcript: Transcript;
  readonly #permissions: PermissionDesk;
  #agent: AgentSession | undefined;
  #title: string | undefined;
  #notes: Notes;
  #turn: RunningTurn | undefined;
  #turnOver: Promise<unknown> = Promise.resolve();
  #lane: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;
  #isStopping = false;
  #cancels = 0;

  constructor(options: SessionOptions) {
    const { held, limits, store } = options;
    this.#options = options;
    this.id = held.record.id;
    this.cwd = options.cwd;
    this.#key = held.key;
    this.#title = held.record.title;
    this.#notes = held.record.notes;
    this.#audience = new Audience(this.id, held.last, store, limits);
    const { attendance, delivery } = this.#audience;
    this.#transcript = new Transcript(store, held.key, held.last, delivery);
    this.#permissions = new PermissionDesk({
      sessionId: this.id,
      workspace: this.cwd,
      rules: options.rules,
      attendance,
      transcript: this.#transcript,
      audit: options.audit,
    });
  }

  /** For the registry: who works here from now on. */
  begin(agent: AgentSession): void {
    this.#agent = agent;
  }

  get notes(): Notes {
    return this.#notes;
  }

  get settings(): SessionSettings {
    return inBothForms(this.agent.settings);
  }

  get agent(): AgentSession {
    if (this.#agent === undefined || this.#closing !== undefined) throw expired(this.id);
    return this.#agent;
  }

  get isRunning(): boolean {
    return this.#turn !== undefined;
  }

  /** The number of the last event that was shown. */
  get last(): number {
    return this.#audience.delivery.last;
  }

  /** Milliseconds that nobody has had a use for it. */
  get idleFor(): number {
    return this.#turn === undefined ? this.#audience.attendance.emptyFor : 0;
  }

  /** Says something outside of a turn. */
  readonly update = (update: SessionUpdate): void => {
    if (this.#closing !== undefined) return;
    this.#note(update);
    this.#transcript.say(update).catch((error: unknown) => {
      this.#options.log.error("session.not-stored", { session: this.id, error });
    });
  };

  /** Has the client see all that comes from now on. */
  attach(client: SessionClient): void {
    if (this.#closing === undefined) this.#audience.attach(client);
  }

  /** Shows the client what was said after an event, and has it see all that comes then. */
  replayTo(client: SessionClient, after = 0): Promise<void> {
    return this.#audience.replayTo(client, after);
  }

  isAttached(client: SessionClient): boolean {
    return this.#audience.attendance.has(client);
  }

  detach(client: SessionClient): void {
    this.#audience.attendance.detach(client);
  }

  /** Has the agent work on a prompt, until its turn is over. */
  async prompt(options: PromptOptions): Promise<TurnEnd> {
    const { prompt, client, meta, whileRunning } = options;
    const cancels = this.#cancels;
    while (this.#turn !== undefined) {
      if (whileRunning === "queue") {
        await this.#turnOver;
        // What calls off the work calls off what waits for it.
        const isWanted = options.isWanted?.() ?? true;
        if (this.#cancels !== cancels || !isWanted) return { stopReason: "cancelled" };
      } else if (whileRunning === "steer") return this.#steer(this.#turn, options);
      else throw new SessionError("session-locked", `Session '${this.id}' is working on a prompt.`);
    }
    void this.agent;
    const { promptTimeout: timeout, cancelGrace } = this.#options.limits;
    const turn = new RunningTurn(this, { prompt, prompter: client, meta, timeout, cancelGrace });
    this.#turn = turn;
    const work = this.#lane
      .then(() => this.#work(turn, options))
      .finally(() => (this.#turn = undefined));
    this.#turnOver = work.catch(() => {});
    return work;
  }

  /** Calls the running turn off, if there is one. */
  cancel(reason = "The turn was cancelled"): void {
    this.#cancels++;
    this.#turn?.cancel(new TrunklineError("cancelled", reason));
    this.#audience.attendance.cancelAsking();
  }

  /** Changes of settings come one after another, and before the next prompt. */
  inOrder<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#lane.then(work);
    this.#lane = result.catch(() => {});
    return result;
  }

  /** Writes down what was chosen, and tells the others. */
  async chose(setting: ChosenSetting, by: SessionClient | undefined): Promise<void> {
    const { chosen = {} } = this.#notes;
    const { modes, configOptions = [] } = this.settings;
    await this.#keep({ chosen: chosenAfter(chosen, setting, configOptions) });
    const shows: SessionUpdate[] = [{ sessionUpdate: "config_option_update", configOptions }];
    if (setting.setting === "mode" && modes !== undefined) {
      const { currentModeId } = modes;
      shows.unshift({ sessionUpdate: "current_mode_update", currentModeId });
    }
    await this.#transcript.record({ kind: "setting", ...setting }, shows, by);
  }

  remember(memory: unknown): Promise<void> {
    return this.#keep({ memory });
  }

  /** Ends a turn that was running when its process died. */
  async interrupt(event: Omit<EndEvent, "kind" | "stopReason">, tools: readonly string[]) {
    for (const toolCallId of tools) {
      void this.#transcript.say(failed(toolCallId)).catch(() => {});
    }
    await this.#transcript.record({ kind: "end", stopReason: "interrupted", ...event });
    await this.#keep({ turn: undefined });
  }

  /**
   * Ends what runs, lets go of the agent, and lets others open it. A turn that runs is cancelled
   * where somebody wants it so, and interrupted where the house stops.
   */
  close(how: "wanted" | "stopping" = "wanted"): Promise<void> {
    if (how === "stopping" && this.#turn?.isCancelled === false) this.#isStopping = true;
    this.#closing ??= this.#close();
    return this.#closing;
  }

  say(update: SessionUpdate): Promise<void> {
    this.#note(update);
    return this.#transcript.say(update);
  }

  services(turn: RunningTurn): TurnClient {
    return clientServices({
      sessionId: this.id,
      limits: this.#options.limits,
      stop: turn.stop,
      clients: () => this.#audience.attendance.clients(turn.prompter),
      whileAsking: turn.whileAsking,
    });
  }

  askPermission(turn: RunningTurn, request: PermissionRequest): Promise<PermissionOutcome> {
    return this.#permissions.ask(turn.id, request);
  }

  async #steer(turn: RunningTurn, { prompt, client, inserted }: PromptOptions): Promise<TurnEnd> {
    const messageId = crypto.randomUUID();
    const by = nameOf(client);
    const event = { kind: "prompt", turnId: turn.id, messageId, prompt, by } as const;
    const shows = updatesOf(event, false);
    await this.#transcript.record({ ...event, steers: true }, shows, unlessEchoed(client));
    inserted?.(messageId);
    turn.steer(prompt);
    await this.#turnOver;
    return { stopReason: turn.isCancelled ? "cancelled" : "end_turn" };
  }

  async #work(turn: RunningTurn, { inserted, isWanted }: PromptOptions): Promise<TurnEnd> {
    const { log } = this.#options;
    const { agent } = this;
    const { prompt, prompter } = turn;
    this.#title ??= titleOf(prompt);
    const titled = this.#title === undefined ? {} : { title: this.#title };
    await this.#keep({ turn: turn.id }, { ...titled, updated: Date.now() });
    const event = { kind: "prompt", turnId: turn.id, prompt, by: nameOf(prompter) } as const;
    await this.#transcript.record(event, updatesOf(event, false), unlessEchoed(prompter));
    inserted?.(turn.id);
    this.#announce(turn, "running");
    if (isWanted?.() === false) this.cancel();
    let end: TurnEnd | undefined;
    let failure: unknown;
    try {
      end = await turn.run((it) => agent.prompt(it));
    } catch (error) {
      failure = error;
    }
    // What an agent asked that failed or was given up is no longer wanted.
    this.#audience.attendance.cancelAsking();
    if (this.#isStopping) {
      end = undefined;
      failure = STOPPED;
    } else if (turn.isCancelled) {
      end = { ...end, stopReason: "cancelled" };
    }
    if (end === undefined || turn.isCancelled) {
      for (const tool of turn.openTools) {
        void this.#transcript.say(failed(tool)).catch(() => {});
      }
    }
    const { stopReason = "interrupted", usage } = end ?? {};
    const why = end === undefined ? { error: wordsOf(failure) } : {};
    const used = usage === undefined ? {} : { usage };
    await this.#transcript.record({ kind: "end", turnId: turn.id, stopReason, ...why, ...used });
    await this.#transcript.settled();
    await this.#keep({ turn: undefined }, { updated: Date.now() });
    this.#announce(turn, stopReason, why);
    if (end !== undefined) return end;
    log.warn("session.turn-failed", { session: this.id, turn: turn.id, error: failure });
    throw failure;
  }

  /** Whoever did not ask learns here that the turn begins or is over. */
  #announce(turn: RunningTurn, state: string, why: { readonly error?: string } = {}): void {
    const _meta = { trunkline: { turn: { id: turn.id, state, ...why } } };
    const updatedAt = new Date().toISOString();
    const title = this.#title === undefined ? {} : { title: this.#title };
    const update = { sessionUpdate: "session_info_update", ...title, updatedAt, _meta };
    this.#audience.announce(update, unlessEchoed(turn.prompter));
  }

  /** What an update says of the session itself. */
  #note(update: SessionUpdate): void {
    if (update.sessionUpdate === "available_commands_update") this.#audience.commands = update;
    if (update.sessionUpdate !== "session_info_update" || typeof update.title !== "string") return;
    this.#title = update.title;
    void this.#keep({}, { title: update.title });
  }

  async #keep(notes: Notes, more: { title?: string; updated?: number } = {}): Promise<void> {
    this.#notes = { ...this.#notes, ...notes };
    await this.#options.store.describe(this.#key, { notes: this.#notes, ...more });
  }

  async #close(): Promise<void> {
    const { store, log } = this.#options;
    this.#cancels++;
    this.#turn?.cancel(STOPPED);
    this.#audience.attendance.cancelAsking();
    await this.#turnOver;
    await this.#transcript.settled().catch(() => {});
    this.#audience.close();
    try {
      await this.#agent?.[Symbol.asyncDispose]();
    } catch (error) {
      log.warn("session.agent-not-closed", { session: this.id, error });
    }
    await store.release(this.#key);
  }
}

const STOPPED = new TrunklineError("closed", "Trunkline was stopped while the turn was running");

/** Who is not shown what it said itself. */
function unlessEchoed(client: SessionClient | undefined): SessionClient | undefined {
  return client?.isEchoed === true ? undefined : client;
}

function nameOf(client: SessionClient | undefined): string {
  return client?.name ?? "unknown";
}

function failed(toolCallId: string): SessionUpdate {
  return { sessionUpdate: "tool_call_update", toolCallId, status: "failed" };
}

function wordsOf(error: unknown): string {
  // Words that are not ours may hold what is not to be shown.
  return error instanceof TrunklineError ? error.message : "The agent failed";
}

export function expired(id: string): SessionError {
  const next = "Open it with session/load or session/resume.";
  return new SessionError("session-expired", `Session '${id}' is not open. ${next}`);
}

import { onAbort } from "../base/abort.ts";
import { TaskQueue } from "../base/limit/task-queue.ts";
import { background } from "../base/background.ts";
import { TrunklineError } from "../base/errors.ts";
import type { Log } from "../base/log.ts";
import { OWNER } from "../base/principal.ts";
import type {
  AgentSession,
  ContentBlock,
  SessionSettings,
  SessionUpdate,
  TurnClient,
  TurnEnd,
  TurnPart,
} from "./agent.ts";
import type { Budgets } from "./budget/budgets.ts";
import { Audience } from "./client/audience.ts";
import { clientServices } from "./client/client-services.ts";
import type { OpenQuestion, PendingQuestion } from "./client/questions.ts";
import type { SessionClient } from "./client/client.ts";
import type { ChosenSetting, EndEvent } from "./event.ts";
import type { SessionLimits } from "./limits.ts";
import type { NoticedEvent, NoticeListener } from "./notice.ts";
import {
  type Answerer,
  type AnswerPolicy,
  answerRefusal,
  isController,
  type PermissionOutcome,
  type PermissionRequest,
} from "./permission/permission.ts";
import { PermissionRequests, type UnansweredRequest } from "./permission/permissions.ts";
import type { RunningTurn, TurnHost } from "./turn/running-turn.ts";
import { SessionError, stopping, takenOver } from "./session-error.ts";
import { type Notes, SessionNotes } from "./session-notes.ts";
import { chosenAfter, inBothForms, shownSettings } from "./settings.ts";
import type { HeldSession, RuleStore, SessionStore } from "./store.ts";
import { endOfPrompt, type EndOfTurn } from "./turn/end-of-prompt.ts";
import { summaryOf } from "./turn/replay.ts";
import { Transcript } from "./turn/transcript.ts";
import { type PromptOptions, type TurnObserver, Turns } from "./turn/turns.ts";
import { subagentOf } from "./subagent.ts";
import { visibleUpdate } from "./visible-request.ts";
import type { TurnRecording, WorkRecorder } from "./turn/turn-recording.ts";
import { type Workplace, workingFolder, workplaceOf } from "./workplace.ts";

/** What all sessions of a process share. */
export interface SharedOptions {
  readonly store: SessionStore;
  readonly rules?: RuleStore;
  readonly budgets?: Budgets;
  readonly limits: SessionLimits;
  readonly log: Log;
  /** Records who permitted what. */
  readonly audit?: (entry: object) => void;
  /** Whose answers count; the first one by default. */
  readonly permissions?: AnswerPolicy | undefined;
  /** Tells people who are away. */
  readonly notices?: NoticeListener | undefined;
  readonly observer?: TurnObserver | undefined;
  readonly recorder?: WorkRecorder | undefined;
}

export interface SessionOptions extends SharedOptions {
  readonly held: HeldSession;
  readonly cwd: string;
}

/**
 * A conversation with an agent that outlives its connections: several clients attach and detach while
 * turns continue. Every event is on disk before a client sees it.
 */
export class Session implements TurnHost {
  readonly id: string;
  readonly cwd: string;
  readonly #options: SessionOptions;
  readonly #audience: Audience;
  readonly #transcript: Transcript;
  readonly #permissions: PermissionRequests;
  readonly #questions = new Set<OpenQuestion>();
  readonly #notes: SessionNotes;
  readonly #turns: Turns;
  /** Stops when the owner's access is revoked. */
  readonly #revoked = new AbortController();
  readonly revoked = this.#revoked.signal;
  #agent: AgentSession | undefined;
  readonly #queue = new TaskQueue();
  #closing: Promise<void> | undefined;

  constructor(options: SessionOptions) {
    const { held, limits, store } = options;
    this.#options = options;
    this.id = held.record.id;
    this.cwd = options.cwd;
    this.#notes = new SessionNotes(store, held);
    this.#audience = new Audience(this.id, held.last, store, limits);
    this.#transcript = new Transcript(store, held.key, this.#audience.delivery);
    const parts = {
      ...{ ...options, sessionId: this.id, notes: this.#notes },
      ...{ audience: this.#audience, transcript: this.#transcript },
    };
    this.#permissions = new PermissionRequests({
      ...parts,
      workspace: this.cwd,
      policy: this.#policy,
      maxSize: limits.ask("session/request_permission").maxSize,
      audit: options.audit ?? (() => {}),
      noticed: (asked) => this.#notice(asked),
      closed: (requestId) => options.notices?.closed(requestId),
    });
    this.#turns = new Turns({
      ...parts,
      agentName: held.record.agent,
      recording: (turn) => this.#record(turn),
      host: this,
      agent: () => this.agent,
      ready: () => this.#queue.idle(),
      ended: (end) => this.#notice(end),
    });
  }

  /** Called by `Sessions` once the agent has opened the session. */
  begin(agent: AgentSession): void {
    this.#agent = agent;
    const { chosen, model } = this.notes;
    const { currentModelId } = this.settings.models ?? {};
    if (chosen?.modelId !== undefined || currentModelId === model) return;
    // Lists only read the store, so the model is noted there.
    this.#notes.later({ model: currentModelId });
  }

  /** A remote run works elsewhere, and has commits of its own. */
  #record(turn: string): TurnRecording | undefined {
    const { agent, notes } = this.#options.held.record;
    if (notes["run"] !== undefined) return undefined;
    const folder = workingFolder({ cwd: this.cwd, notes });
    const { currentModelId } = this.settings.models ?? {};
    const model = currentModelId ?? this.notes.model;
    return this.#options.recorder?.begin({ session: this.id, turn, agent, model, folder });
  }

  /** Id of the principal that owns the session. */
  get owner(): string {
    return this.notes.owner ?? "";
  }

  get notes(): Notes {
    return this.#notes.kept;
  }

  /** The work tree of the session, if it has one. */
  get workplace(): Workplace | undefined {
    return workplaceOf({ ...this.notes });
  }

  get settings(): SessionSettings {
    return inBothForms(this.agent.settings);
  }

  /** Whether a prompt is a command that the agent runs without a model. */
  isCommand(prompt: readonly ContentBlock[]): boolean {
    return this.#agent?.isCommand?.(prompt) === true;
  }

  get agent(): AgentSession {
    if (this.#agent === undefined || this.#closing !== undefined) throw expired(this.id);
    return this.#agent;
  }

  /** It is closed, or being closed. */
  get isOver(): boolean {
    return this.#closing !== undefined;
  }

  get isRunning(): boolean {
    return this.#turns.isRunning;
  }

  /** Number of the last event that was sent to clients. */
  get last(): number {
    return this.#audience.delivery.last;
  }

  /** Milliseconds without an attached client or a running turn. */
  get idleFor(): number {
    return this.isRunning ? 0 : this.#audience.emptyFor;
  }

  /** Records and sends an update of the agent that belongs to no turn. */
  readonly update = (said: SessionUpdate): void => {
    if (this.#closing !== undefined) return;
    const update = this.#take(said);
    if (update === undefined) return;
    if (!this.isRunning) this.#transcript.clearFailure();
    this.#transcript.say(update).catch(this.#notStored);
  };

  /** Tells clients something of the agent that is no update. */
  readonly notify = (method: string, params: object): void => this.#audience.notify(method, params);

  /** Sends the client all updates from now on. */
  attach(client: SessionClient): void {
    if (this.#closing === undefined) this.#audience.attach(client);
  }

  /** Sends the client all events, or those after `after` that it does not know, and all updates from then on. */
  replayTo(client: SessionClient, after?: number): Promise<void> {
    // A client that loads the session reads the settings in the answer.
    const settings = after === undefined ? [] : shownSettings(this.settings);
    return this.#audience.replayTo(client, after, settings);
  }

  isAttached(client: SessionClient): boolean {
    return this.#audience.has(client);
  }

  detach(client: SessionClient): void {
    this.#audience.detach(client);
  }

  /** ACP prompt-turn: has the agent work on a prompt. Resolves when the turn has ended. */
  async prompt(options: PromptOptions): Promise<TurnEnd> {
    if (!this.isRunning) this.#permissions.turnBegins();
    try {
      return await this.#turns.prompt(options);
    } finally {
      // ACP message specification § Streaming Message Ordering: the answer comes after all updates of the
      // turn, even for a client that reads slowly.
      if (options.client !== undefined) await this.#audience.caughtUp(options.client);
    }
  }

  /**
   * The end of the turn of a prompt that a client sent after an event, and whose answer it did not get.
   * Undefined if no agent has begun to work on it.
   */
  async endOf(
    prompt: readonly ContentBlock[],
    client: SessionClient,
    after: number,
  ): Promise<TurnEnd | EndOfTurn | undefined> {
    const { origin = "" } = client;
    const running = this.#turns.endOf(prompt, origin);
    const end =
      running === undefined
        ? await endOfPrompt(this.#options.store, this.id, { prompt, origin }, after)
        : await running;
    await this.#audience.caughtUp(client);
    return end;
  }

  /** Cancels the running turn if this principal prompted it, whose access was revoked. */
  cancelFor(principal: string): void {
    if (this.#turns.principal?.id === principal) this.cancel(NO_LONGER_LET_IN);
  }

  /** Cancels the work of a subagent, by the agent's id of it; the turn goes on. */
  cancelSubagent(child: string): void {
    this.agent.cancelSubagent?.(child);
  }

  /** Cancels one tool call or terminal, with what it asks. False if that cannot be cancelled by itself. */
  async cancelPart(part: TurnPart): Promise<boolean> {
    const isCancelled = (await this.agent.cancelPart?.(part)) === true;
    if (isCancelled && part.kind === "tool_call") this.#permissions.cancelFor(part.id);
    return isCancelled;
  }

  /** ACP session/cancel. */
  cancel(reason = "The turn was cancelled"): void {
    this.#turns.cancel(new TrunklineError("cancelled", reason));
  }

  /** Runs changes of settings one after another, and before the next prompt. */
  inOrder<T>(work: () => Promise<T>): Promise<T> {
    return this.#queue.run(work);
  }

  /** Records a choice and tells the other clients. */
  async chose(setting: ChosenSetting, by: SessionClient | undefined): Promise<void> {
    const { settings } = this;
    const chosen = chosenAfter(this.notes.chosen ?? {}, setting, settings.configOptions ?? []);
    await this.#notes.keep({ chosen, ...(chosen.modelId && { model: undefined }) });
    if (!this.isRunning) this.#transcript.clearFailure();
    const { modes: _, ...others } = settings;
    const shows = shownSettings(setting.setting === "mode" ? settings : others);
    await this.#transcript.record({ kind: "setting", ...setting }, shows, by);
  }

  /** Gives the session a title that its agent does not replace, and tells everybody. */
  async setTitle(title: string): Promise<void> {
    await this.#notes.keep({ isTitled: true }, { title });
    this.#audience.announce({ sessionUpdate: "session_info_update", title }, undefined);
    // The title is ours, whatever the agent makes of it.
    await this.agent.setTitle?.(title).catch((error: unknown) => {
      this.#options.log.warn("session.title-not-told", { session: this.id, error });
    });
  }

  /** Changes what is kept beside the events; an agent may replace the title. */
  keep(notes: Notes, more?: { readonly title: string }): Promise<void> {
    return this.#notes.keep(notes, more);
  }

  /** Notes a question that nobody has answered, so that whoever opens the session next asks it again. */
  keepQuestion(permission: UnansweredRequest): Promise<void> {
    return this.#notes.keep({ permission });
  }

  /** Records the end of a turn that was running when its process died. */
  async interrupt(
    event: Omit<EndEvent, "kind" | "stopReason">,
    tools: readonly string[],
  ): Promise<void> {
    await this.#turns.interrupt(event, tools);
    this.#notice({ reason: "failed", error: event.error ?? "The turn was interrupted" });
  }

  /**
   * Ends the running turn, disposes of the agent's side and releases the session for other processes.
   * A running turn ends as cancelled when closing was requested ("wanted"), and as interrupted when the
   * program stops or another process has taken the session over ("lost"). When the owner's access is
   * revoked, or the program stops before the agent has begun, processes of the session are killed at once.
   */
  close(how: "wanted" | "stopping" | "lost" | "revoked" = "wanted"): Promise<void> {
    if (how === "stopping") this.#turns.stop();
    if (how === "lost") this.#turns.stop(takenOver(this.id));
    // Closing a session cancels its turn, but keeps open what an interrupted turn had asked.
    const keepsAsking = how === "wanted" ? !this.isRunning : how !== "revoked";
    if (keepsAsking) background(this.#permissions.stop(), "Keeping a question");
    if (how === "revoked") this.#revoked.abort(new TrunklineError("closed", NO_LONGER_LET_IN));
    // An agent may never answer while it starts, and nobody waits for it any more.
    if (how === "stopping" && this.#agent === undefined) this.#revoked.abort(stopping());
    this.#closing ??= this.#close(how === "lost");
    return this.#closing;
  }

  async say(said: SessionUpdate): Promise<void> {
    const update = this.#take(said);
    if (update === undefined) return;
    const stored = this.#transcript.say(update);
    if (summaryOf(update) !== undefined) this.#noteSummary(stored);
    await stored;
  }

  services(turn: RunningTurn): TurnClient {
    const asking = { sessionId: this.id, asker: turn.prompter, principal: turn.principal };
    return clientServices({
      sessionId: this.id,
      limits: this.#options.limits,
      signal: turn.signal,
      // An editor has the files of its own folder open, not those of the work tree.
      hasFiles: this.workplace === undefined,
      // Nor do its commands run where the editor is, if the session has moved here.
      hasTerminals: this.notes.visitor === undefined,
      clients: () =>
        this.#audience.clients(turn.prompter).filter((client) => isController(client, this.id)),
      mayAnswer: (client) => answerRefusal(this.#policy, asking, client) === undefined,
      askAll: (pending, message) => this.#ask(turn, message, pending),
      waiting: (words) => turn.tellWaiting(words),
      whileAsking: turn.whileWaiting,
    });
  }

  /** Asks a person, and lets other processes see that a question is open. */
  async #ask(
    { id, signal }: RunningTurn,
    message: string | undefined,
    pending: PendingQuestion,
  ): Promise<unknown> {
    const open: OpenQuestion = { turn: id, message, since: Date.now() };
    using ends = new DisposableStack();
    ends.defer(() => this.#noteQuestion());
    ends.defer(() => this.#questions.delete(open));
    ends.defer(onAbort(signal, () => pending.cancel()));
    this.#questions.add(open);
    this.#noteQuestion();
    this.#notice({ reason: "question", message });
    return await this.#audience.ask(pending, this.#transcript.settled());
  }

  /** The question is asked, even if this cannot be stored. */
  #noteQuestion(): void {
    const [question] = this.#questions;
    this.#notes.keep({ question }).catch(this.#notStored);
  }

  askPermission(turn: RunningTurn, request: PermissionRequest): Promise<PermissionOutcome> {
    return this.#permissions.ask(turn, request);
  }

  /** Asks again what was open when the last turn was interrupted. */
  askAgain(unanswered: UnansweredRequest): void {
    const principal = { ...OWNER, id: this.owner };
    background(this.#permissions.askAgain(unanswered, principal), "Asking for permission again");
  }

  /** Answers an open permission request for somebody who is not attached. Throws if that does not count. */
  answer(requestId: string, optionId: string, who: Answerer): Promise<void> {
    return this.#permissions.answer(requestId, optionId, who);
  }

  readonly #notStored = (error: unknown): void =>
    this.#options.log.error("session.not-stored", { session: this.id, error });

  get #policy(): AnswerPolicy {
    return this.#options.permissions ?? "first";
  }

  #notice(event: NoticedEvent): void {
    const { id: sessionId, cwd } = this;
    this.#options.notices?.noticed({ sessionId, cwd, title: this.#notes.title, ...event });
  }

  /** The part of an agent's update that is stored; undefined if nothing is left of it. */
  #take(said: SessionUpdate): SessionUpdate | undefined {
    const { title, ...others } = said;
    const isTitle = said.sessionUpdate === "session_info_update" && title !== undefined;
    // ACP session/set_title: a title that a person chose is not replaced.
    const isOld = isTitle && this.notes.isTitled === true && subagentOf(said) === undefined;
    if (isOld && Object.keys(others).length === 1) return undefined;
    const update = visibleUpdate(isOld ? others : said);
    this.#note(update);
    return update;
  }

  /** Keeps what an update says about the session: its commands and its title. */
  #note(update: SessionUpdate): void {
    if (subagentOf(update) !== undefined) return;
    if (update.sessionUpdate === "available_commands_update") this.#audience.commands = update;
    if (update.sessionUpdate !== "session_info_update" || typeof update.title !== "string") return;
    this.#notes.keep({}, { title: update.title }).catch(this.#notStored);
  }

  /** Notes that the agent needs no events from before this turn, once the log has the summary of them. */
  #noteSummary(stored: Promise<void>): void {
    const { turnAfter: summaryAfter } = this.notes;
    stored.then(() => this.#notes.keep({ summaryAfter })).catch(this.#notStored);
  }

  async #close(isLost: boolean): Promise<void> {
    const { store, log, held } = this.#options;
    await this.#turns.end();
    await this.#transcript.settled().catch(() => {});
    this.#audience.close(isLost);
    try {
      await this.#agent?.[Symbol.asyncDispose]();
    } catch (error) {
      log.warn("session.agent-not-closed", { session: this.id, error });
    }
    this.#notes.end();
    await store.release(held.key);
  }
}

const NO_LONGER_LET_IN = "The access of the person or program that started this was revoked";

export function expired(id: string): SessionError {
  const next = "Open it with session/load or session/resume.";
  return new SessionError("session-expired", `Session '${id}' is not open. ${next}`);
}

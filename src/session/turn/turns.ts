import { belongingTo } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Principal } from "../../base/principal.ts";
import type { Span } from "../../base/trace.ts";
import type { AgentSession, ContentBlock, Meta, TurnEnd } from "../agent.ts";
import type { Budgets } from "../budget/budgets.ts";
import type { Audience } from "../client/audience.ts";
import type { SessionClient } from "../client/client.ts";
import type { EndEvent } from "../event.ts";
import type { SessionLimits } from "../limits.ts";
import type { NoticedEnd } from "../notice.ts";
import { notHeld, SessionError } from "../session-error.ts";
import { type SessionNotes, titleOf, WriteRetry } from "../session-notes.ts";
import { updatesOf } from "./replay.ts";
import { RunningTurn, type TurnHost } from "./running-turn.ts";
import type { Transcript } from "./transcript.ts";
import type { TurnRecording } from "./turn-recording.ts";

/** A turn whose agent begins to work. */
interface ObservedTurn {
  readonly session: string;
  readonly turn: string;
  /** The name of the agent. */
  readonly agent: string;
  /** The `_meta` of the prompt. */
  readonly meta: Meta | undefined;
}

/** Observes turns: for traces and histograms. It must not throw. */
export interface TurnObserver {
  begun(turn: ObservedTurn): {
    /** Set where the turn is traced. */
    readonly span?: Span | undefined;
    /** "interrupted" where the agent failed. */
    ended(stopReason: string): void;
  };
}

interface TurnsOptions {
  readonly sessionId: string;
  readonly agentName: string;
  readonly limits: SessionLimits;
  readonly log: Log;
  readonly audience: Audience;
  readonly transcript: Transcript;
  readonly notes: SessionNotes;
  readonly budgets?: Budgets | undefined;
  readonly observer?: TurnObserver | undefined;
  /** Begins to record what a turn does to files. */
  readonly recording: (turn: string) => TurnRecording | undefined;
  readonly host: TurnHost;
  /** The agent's side of the session. Throws when the session is closed. */
  readonly agent: () => AgentSession;
  /** Resolves when changes of settings that were requested before the prompt are done. */
  readonly ready: () => Promise<unknown>;
  /** Called when a turn has ended. */
  readonly ended: (end: NoticedEnd) => void;
}

export interface PromptOptions {
  readonly prompt: readonly ContentBlock[];
  readonly client?: SessionClient | undefined;
  readonly meta?: Meta | undefined;
  /** What to do while another turn is running; by default the prompt is refused. */
  readonly whileRunning?: "steer" | "queue" | undefined;
  /** Called when the prompt gets a turn of its own. */
  readonly begun?: (() => void) | undefined;
  /** Called with the message id when the prompt is stored. */
  readonly inserted?: ((messageId: string) => void) | undefined;
  /** Whether the client still wants the prompt after it has waited for another turn. */
  readonly isWanted?: () => boolean;
}

/** Runs the turns of a session one at a time, and records each from its prompt to its end. */
export class Turns {
  readonly #options: TurnsOptions;
  /** Prompts that are queued or worked on, and their ends. */
  readonly #asked = new Map<PromptOptions, Promise<TurnEnd>>();
  #running: RunningTurn | undefined;
  #over: Promise<unknown> = Promise.resolve();
  /** Settles when the file changes of the last turn are recorded. */
  #recorded: Promise<unknown> | undefined;
  #stopping: Error | undefined;
  #cancels = 0;
  /** A turn that has ended, but whose end could not be stored yet. */
  #unended: Parameters<Turns["interrupt"]> | undefined;
  #ending: Promise<void> | undefined;
  readonly #endAgain = new WriteRetry(() => this.#endLast());

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  /** The end of a prompt that is queued or worked on; undefined if there is no such prompt. */
  endOf(prompt: readonly ContentBlock[], origin: string): Promise<TurnEnd> | undefined {
    const text = JSON.stringify(prompt);
    for (const [one, end] of this.#asked) {
      if (one.client?.origin === origin && JSON.stringify(one.prompt) === text) return end;
    }
    return undefined;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Who prompted the running turn. */
  get principal(): Principal | undefined {
    return this.#running?.principal;
  }

  /** ACP prompt-turn: has the agent work on a prompt. Resolves when the turn has ended. */
  prompt(options: PromptOptions): Promise<TurnEnd> {
    const end = this.#prompt(options).finally(() => this.#asked.delete(options));
    this.#asked.set(options, end);
    return end;
  }

  async #prompt(options: PromptOptions): Promise<TurnEnd> {
    const { sessionId, limits, host, agent, ready } = this.#options;
    const { prompt, client, meta, whileRunning } = options;
    const cancels = this.#cancels;
    while (this.#running !== undefined) {
      const pausing = this.#pause(this.#running, options);
      if (pausing !== undefined) {
        await pausing;
        return { stopReason: "end_turn" };
      }
      if (whileRunning === undefined) {
        throw new SessionError("session-locked", `Session '${sessionId}' is working on a prompt.`);
      }
      if (whileRunning === "queue") await this.#over;
      else if (await this.#steer(this.#running, options)) {
        return { stopReason: this.#cancels === cancels ? "end_turn" : "cancelled" };
      }
      // ACP session/cancel also cancels the prompts that wait for the turn.
      const isWanted = options.isWanted?.() ?? true;
      if (this.#cancels !== cancels || !isWanted) return { stopReason: "cancelled" };
    }
    agent();
    const { promptTimeout: timeout, cancelGrace } = limits;
    const turn = new RunningTurn(host, { prompt, prompter: client, meta, timeout, cancelGrace });
    this.#running = turn;
    options.begun?.();
    const work = ready()
      .then(() => this.#work(turn, options))
      .finally(() => (this.#running = undefined));
    this.#over = work.catch(() => {});
    return work;
  }

  /** ACP session/cancel: stops the running turn and withdraws its permission requests. */
  cancel(reason: Error): void {
    this.#cancels++;
    this.#running?.cancel(reason);
    this.#options.audience.cancelAsking();
  }

  /** The program stops, or another has the session: a running turn ends as interrupted, unless cancelled. */
  stop(why: Error = STOPPED): void {
    if (this.#running?.isCancelled === false) this.#stopping = why;
  }

  async end(): Promise<void> {
    this.cancel(STOPPED);
    await this.#over;
    await this.#recorded;
    this.#endAgain[Symbol.dispose]();
    // If this fails, the next opening of the session records the end (see recover.ts).
    await this.#endLast().catch(() => {});
  }

  /** Records the end of a turn that was running when its process died. */
  async interrupt(
    event: Omit<EndEvent, "kind" | "stopReason">,
    openTools: readonly string[],
  ): Promise<void> {
    const { transcript } = this.#options;
    transcript.clearFailure();
    this.#failTools(openTools);
    await transcript.record({ kind: "end", stopReason: "interrupted", ...event });
    await this.#noteEnd();
  }

  /** Stores the end of the previous turn, if that failed at the time. */
  #endLast(): Promise<void> {
    const unended = this.#unended;
    if (unended === undefined) return Promise.resolve();
    this.#ending ??= this.interrupt(...unended)
      .then(
        () => {
          this.#unended = undefined;
          this.#endAgain.succeeded();
        },
        (error: unknown) => {
          this.#endAgain.failed();
          throw error;
        },
      )
      .finally(() => (this.#ending = undefined));
    return this.#ending;
  }

  /** Remembers a turn whose end could not be stored, and tries again in the background. */
  #endLater(turn: RunningTurn, failure: unknown): void {
    const { log, sessionId } = this.#options;
    const error = wordsOf(failure);
    this.#unended = [{ turnId: turn.id, error }, turn.openTools];
    this.#announce(turn, "interrupted", { error });
    // The prompt is answered without waiting for this.
    this.#endLast().catch((error: unknown) => {
      log.warn("session.turn-not-ended", { session: sessionId, error });
    });
  }

  /** Pauses or continues the running turn; undefined if the prompt does not ask for it, or the agent cannot. */
  #pause(turn: RunningTurn, { prompt, inserted }: PromptOptions): Promise<void> | undefined {
    const agent = this.#options.agent();
    const wish = agent.pausing?.(prompt);
    if (wish !== undefined) {
      inserted?.(crypto.randomUUID());
      turn.setPaused(wish === "pause");
      return Promise.resolve();
    }
    return agent.passPausing?.(prompt)?.then((passed) => {
      inserted?.(crypto.randomUUID());
      turn.agentPaused(passed === "pause");
    });
  }

  /** Offers a prompt to the running turn and waits for its end. Resolves to whether the agent took it. */
  async #steer(turn: RunningTurn, options: PromptOptions): Promise<boolean> {
    const { prompt, inserted } = options;
    let recorded: Promise<void> | undefined;
    const record = async (): Promise<void> => {
      const messageId = crypto.randomUUID();
      await this.#recordPrompt(turn, options, { messageId, steers: true });
      inserted?.(messageId);
    };
    turn.steer({
      prompt,
      isWanted: () => options.isWanted?.() ?? true,
      taken: () => {
        recorded = record();
        recorded.catch(() => {});
      },
    });
    await this.#over;
    await recorded;
    return recorded !== undefined;
  }

  async #work(turn: RunningTurn, options: PromptOptions): Promise<TurnEnd> {
    const { inserted, isWanted } = options;
    const { notes, log, sessionId, agentName, audience, transcript } = this.#options;
    const agent = this.#options.agent();
    await this.#endLast();
    const measured = { turn: turn.id, session: sessionId, principal: turn.principal };
    // Throws where a budget is used up.
    const meter = await this.#options.budgets?.begin(measured);
    transcript.clearFailure();
    const isUntitled = notes.title === undefined;
    const title = notes.title ?? titleOf(turn.prompt);
    const titled = title === undefined ? {} : { title };
    try {
      const begun = { turn: turn.id, turnAfter: audience.delivery.last };
      await notes.keep(begun, { ...titled, updated: Date.now() });
      await this.#recordPrompt(turn, options);
    } catch (error) {
      // Without its prompt there is no turn. If another process has the session, the prompt goes there.
      await meter?.end(undefined);
      await this.#noteEnd();
      throw notHeld(sessionId, error);
    }
    inserted?.(turn.id);
    if (isUntitled && title !== undefined) {
      audience.announce({ sessionUpdate: "session_info_update", title }, undefined);
    }
    this.#announce(turn, "running");
    if (isWanted?.() === false) this.cancel(new TrunklineError("cancelled", NO_LONGER_WANTED));
    const seen = { session: sessionId, turn: turn.id, agent: agentName, meta: turn._meta };
    const observed = this.#options.observer?.begun(seen);
    turn.span = observed?.span;
    const recording = this.#options.recording(turn.id);
    turn.record(recording);
    await recording?.ready;
    let end: TurnEnd | undefined;
    let failure: unknown;
    try {
      const belongs = { session: sessionId, turn: turn.id };
      if (meter !== undefined) turn.measure(meter);
      end = await belongingTo(belongs, () => turn.run((it) => agent.prompt(it)));
    } catch (error) {
      failure = error;
    }
    this.#recorded = recording?.ended();
    // Withdraw the requests of an agent that has failed or was given up.
    audience.cancelAsking();
    const budget = await meter?.end(end?.usage);
    if (turn.failure !== undefined) {
      end = undefined;
      failure = this.#stopping ?? turn.failure;
    } else if (this.#stopping !== undefined) {
      end = undefined;
      failure = this.#stopping;
    } else if (turn.isCancelled) {
      end = { ...end, stopReason: "cancelled" };
    } else if (turn.spentReason !== undefined) {
      end = { ...end, stopReason: turn.spentReason };
    }
    observed?.ended(end?.stopReason ?? "interrupted");
    if (turn.failure === undefined) await this.#recordEnd(turn, end, failure);
    else this.#endLater(turn, failure);
    if (end !== undefined) return budget === undefined ? end : withBudget(end, budget);
    log.warn("session.turn-failed", { session: sessionId, turn: turn.id, error: failure });
    throw failure;
  }

  async #recordPrompt(
    turn: RunningTurn,
    { prompt, client, meta }: PromptOptions,
    more: { readonly messageId?: string; readonly steers?: true } = {},
  ): Promise<void> {
    const { name: by = "unknown", origin } = client ?? {};
    const event = { kind: "prompt", turnId: turn.id, prompt, by, origin, ...more } as const;
    const shows = updatesOf(event, false);
    const { echo } = (meta?.trunkline ?? {}) as { readonly echo?: unknown };
    const except = echo === true ? undefined : unlessEchoed(client);
    await this.#options.transcript.record(event, shows, except);
  }

  async #recordEnd(turn: RunningTurn, end: TurnEnd | undefined, failure: unknown): Promise<void> {
    const { transcript } = this.#options;
    const isBrokenOff = end === undefined || turn.isCancelled || turn.spentReason !== undefined;
    const openTools = isBrokenOff ? turn.openTools : [];
    const { stopReason = "interrupted", usage } = end ?? {};
    const why = end === undefined ? { error: wordsOf(failure) } : {};
    transcript.clearFailure();
    try {
      this.#failTools(openTools);
      await transcript.record({ kind: "end", turnId: turn.id, stopReason, ...why, usage });
      await transcript.settled();
    } catch (error) {
      // The prompt is answered with an error, so the turn is recorded as interrupted.
      this.#endLater(turn, failure ?? error);
      throw failure ?? error;
    }
    await this.#noteEnd({ updated: Date.now() });
    this.#announce(turn, stopReason, why);
  }

  /** Clears the note of the running turn. A failure is only logged: it is written again later. */
  async #noteEnd(more: { readonly updated?: number } = {}): Promise<void> {
    const { notes, log, sessionId } = this.#options;
    await notes.keep({ turn: undefined, turnAfter: undefined }, more).catch((error: unknown) => {
      log.warn("session.not-noted", { session: sessionId, error });
    });
  }

  /** Tells the other clients that a turn begins or has ended, and people who are away that it has ended. */
  #announce(turn: RunningTurn, state: string, why: { readonly error?: string } = {}): void {
    const { notes, audience, ended } = this.#options;
    const _meta = { trunkline: { turn: { id: turn.id, state, ...why } } };
    const updatedAt = new Date().toISOString();
    const { title } = notes;
    const update = { sessionUpdate: "session_info_update", title, updatedAt, _meta };
    audience.announce(update, unlessEchoed(turn.prompter));
    if (state === "interrupted") ended({ reason: "failed", error: why.error ?? "" });
    else if (state !== "running") ended({ reason: "turn-ended", stopReason: state });
  }

  /** Marks open tool calls as failed. A failure to store shows with the event that follows. */
  #failTools(tools: readonly string[]): void {
    for (const toolCallId of tools) {
      const update = { sessionUpdate: "tool_call_update", toolCallId, status: "failed" };
      this.#options.transcript.say(update).catch(() => {});
    }
  }
}

const STOPPED = new TrunklineError("closed", "Trunkline was stopped while the turn was running");

const NO_LONGER_WANTED = "The turn was cancelled";

/** The client that does not receive its own prompt (ACP version 1). */
function unlessEchoed(client: SessionClient | undefined): SessionClient | undefined {
  return client?.isEchoed === true ? undefined : client;
}

/** Tells the client how much of the budgets is used. */
function withBudget(end: TurnEnd, budget: Readonly<Record<string, unknown>>): TurnEnd {
  const { trunkline } = (end._meta ?? {}) as { readonly trunkline?: object };
  return { ...end, _meta: { ...end._meta, trunkline: { ...trunkline, budget } } };
}

function wordsOf(error: unknown): string {
  // Messages of other programs' errors may contain secrets.
  return error instanceof TrunklineError ? error.message : "The agent failed";
}

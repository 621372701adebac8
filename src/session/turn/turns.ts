import { belongingTo } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import type { Principal } from "../../base/principal.ts";
import type { AgentSession, ContentBlock, Meta, TurnEnd } from "../agent.ts";
import type { Audience } from "../client/audience.ts";
import type { SessionClient } from "../client/client.ts";
import type { EndEvent } from "../event.ts";
import type { SessionLimits } from "../limits.ts";
import { updatesOf } from "./replay.ts";
import { RunningTurn, type TurnHost } from "./running-turn.ts";
import { SessionError } from "../session-error.ts";
import { type SessionNotes, titleOf } from "../session-notes.ts";
import type { Transcript } from "./transcript.ts";

export interface TurnsOptions {
  readonly sessionId: string;
  readonly limits: SessionLimits;
  readonly log: Log;
  readonly audience: Audience;
  readonly transcript: Transcript;
  readonly notes: SessionNotes;
  readonly host: TurnHost;
  /** Who works here. Throws where nobody does any more. */
  readonly agent: () => AgentSession;
  /** Resolves when what was asked for before a prompt is done. */
  readonly ready: () => Promise<unknown>;
}

export interface PromptOptions {
  readonly prompt: readonly ContentBlock[];
  readonly client?: SessionClient | undefined;
  readonly meta?: Meta | undefined;
  /** What becomes of it while another is worked on; it is refused, if that is not said. */
  readonly whileRunning?: "steer" | "queue" | undefined;
  /** Hears that a turn of its own begins. */
  readonly begun?: (() => void) | undefined;
  /** Hears that it is part of the conversation now, and under which id. */
  readonly inserted?: ((messageId: string) => void) | undefined;
  /** Whether it still is wanted, once another is done. */
  readonly isWanted?: () => boolean;
}

interface UnendedTurn {
  readonly event: Omit<EndEvent, "kind" | "stopReason">;
  readonly openTools: readonly string[];
}

/** The turns of a session, one at a time, each from its prompt to its end in the transcript. */
export class Turns {
  readonly #options: TurnsOptions;
  #running: RunningTurn | undefined;
  #over: Promise<unknown> = Promise.resolve();
  #isStopping = false;
  #cancels = 0;
  /** A turn that is over, and whose end could not be stored yet. */
  #unended: UnendedTurn | undefined;
  #ending: Promise<void> | undefined;

  constructor(options: TurnsOptions) {
    this.#options = options;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Who prompted the turn that runs. */
  get principal(): Principal | undefined {
    return this.#running?.principal;
  }

  /** Has the agent work on a prompt, until its turn is over. */
  async prompt(options: PromptOptions): Promise<TurnEnd> {
    const { sessionId, limits, host, agent, ready } = this.#options;
    const { prompt, client, meta, whileRunning } = options;
    const cancels = this.#cancels;
    while (this.#running !== undefined) {
      if (whileRunning === undefined) {
        throw new SessionError("session-locked", `Session '${sessionId}' is working on a prompt.`);
      }
      if (whileRunning === "queue") await this.#over;
      else if (await this.#steer(this.#running, options)) {
        return { stopReason: this.#cancels === cancels ? "end_turn" : "cancelled" };
      }
      // What calls off the work calls off what waits for it.
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

  /** Calls the running turn off, if there is one. */
  cancel(reason: Error): void {
    this.#cancels++;
    this.#running?.cancel(reason);
    this.#options.audience.attachments.cancelAsking();
  }

  /** What runs ends as interrupted, unless somebody has cancelled it. */
  stop(): void {
    if (this.#running?.isCancelled === false) this.#isStopping = true;
  }

  async end(): Promise<void> {
    this.cancel(STOPPED);
    await this.#over;
    // Where that fails, whoever opens the session next finds the turn without an end.
    await this.#endLast().catch(() => {});
  }

  /** Ends a turn that was running when its process died. */
  async interrupt(
    event: Omit<EndEvent, "kind" | "stopReason">,
    openTools: readonly string[],
  ): Promise<void> {
    const { transcript } = this.#options;
    transcript.mend();
    this.#failTools(openTools);
    await transcript.record({ kind: "end", stopReason: "interrupted", ...event });
    await this.#noteEnd();
  }

  /** Stores the end of the turn before, where that was not possible then. */
  #endLast(): Promise<void> {
    const unended = this.#unended;
    if (unended === undefined) return Promise.resolve();
    this.#ending ??= this.interrupt(unended.event, unended.openTools)
      .then(() => (this.#unended = undefined))
      .finally(() => (this.#ending = undefined));
    return this.#ending;
  }

  /** A turn whose end cannot be stored now, or whose store has just failed. */
  #endLater(turn: RunningTurn, failure: unknown): void {
    const { log, sessionId } = this.#options;
    const error = wordsOf(failure);
    this.#unended = { event: { turnId: turn.id, error }, openTools: turn.openTools };
    this.#announce(turn, "interrupted", { error });
    // Whoever has prompted need not wait for another failure.
    this.#endLast().catch((error: unknown) => {
      log.warn("session.turn-not-ended", { session: sessionId, error });
    });
  }

  /** Waits for the end of a turn that is to be steered. Whether its agent has taken the prompt. */
  async #steer(turn: RunningTurn, { prompt, client, inserted }: PromptOptions): Promise<boolean> {
    let recorded: Promise<void> | undefined;
    const record = async (): Promise<void> => {
      const messageId = crypto.randomUUID();
      await this.#recordPrompt(turn, prompt, client, { messageId, steers: true });
      inserted?.(messageId);
    };
    turn.steer({
      prompt,
      taken: () => {
        recorded = record();
        recorded.catch(() => {});
      },
    });
    await this.#over;
    await recorded;
    return recorded !== undefined;
  }

  async #work(turn: RunningTurn, { inserted, isWanted }: PromptOptions): Promise<TurnEnd> {
    const { notes, log, sessionId, audience, transcript } = this.#options;
    const agent = this.#options.agent();
    await this.#endLast();
    transcript.mend();
    const title = notes.title ?? titleOf(turn.prompt);
    const titled = title === undefined ? {} : { title };
    await notes.keep({ turn: turn.id }, { ...titled, updated: Date.now() });
    await this.#recordPrompt(turn, turn.prompt, turn.prompter);
    inserted?.(turn.id);
    this.#announce(turn, "running");
    if (isWanted?.() === false) this.cancel(new TrunklineError("cancelled", NO_LONGER_WANTED));
    let end: TurnEnd | undefined;
    let failure: unknown;
    try {
      const belongs = { session: sessionId, turn: turn.id };
      end = await belongingTo(belongs, () => turn.run((it) => agent.prompt(it)));
    } catch (error) {
      failure = error;
    }
    // What an agent asked that failed or was given up is no longer wanted.
    audience.attachments.cancelAsking();
    if (turn.failure !== undefined) {
      end = undefined;
      failure = turn.failure;
    } else if (this.#isStopping) {
      end = undefined;
      failure = STOPPED;
    } else if (turn.isCancelled) {
      end = { ...end, stopReason: "cancelled" };
    }
    if (turn.failure === undefined) await this.#recordEnd(turn, end, failure);
    else this.#endLater(turn, failure);
    if (end !== undefined) return end;
    log.warn("session.turn-failed", { session: sessionId, turn: turn.id, error: failure });
    throw failure;
  }

  async #recordPrompt(
    turn: RunningTurn,
    prompt: readonly ContentBlock[],
    client: SessionClient | undefined,
    more: { readonly messageId?: string; readonly steers?: true } = {},
  ): Promise<void> {
    const by = client?.name ?? "unknown";
    const event = { kind: "prompt", turnId: turn.id, prompt, by, ...more } as const;
    const shows = updatesOf(event, false);
    await this.#options.transcript.record(event, shows, unlessEchoed(client));
  }

  async #recordEnd(turn: RunningTurn, end: TurnEnd | undefined, failure: unknown): Promise<void> {
    const { transcript } = this.#options;
    const openTools = end === undefined || turn.isCancelled ? turn.openTools : [];
    const { stopReason = "interrupted", usage } = end ?? {};
    const why = end === undefined ? { error: wordsOf(failure) } : {};
    const used = usage === undefined ? {} : { usage };
    transcript.mend();
    try {
      this.#failTools(openTools);
      await transcript.record({ kind: "end", turnId: turn.id, stopReason, ...why, ...used });
      await transcript.settled();
    } catch (error) {
      // Its prompt is answered with an error, so that is how it ended.
      this.#endLater(turn, failure ?? error);
      throw failure ?? error;
    }
    await this.#noteEnd({ updated: Date.now() });
    this.#announce(turn, stopReason, why);
  }

  /** The turn has its end: that it is noted is not worth failing for, and the next note brings it. */
  async #noteEnd(more: { readonly updated?: number } = {}): Promise<void> {
    const { notes, log, sessionId } = this.#options;
    try {
      await notes.keep({ turn: undefined }, more);
    } catch (error) {
      log.warn("session.not-noted", { session: sessionId, error });
    }
  }

  /** Whoever did not ask learns here that the turn begins or is over. */
  #announce(turn: RunningTurn, state: string, why: { readonly error?: string } = {}): void {
    const { notes, audience } = this.#options;
    const _meta = { trunkline: { turn: { id: turn.id, state, ...why } } };
    const updatedAt = new Date().toISOString();
    const title = notes.title === undefined ? {} : { title: notes.title };
    const update = { sessionUpdate: "session_info_update", ...title, updatedAt, _meta };
    audience.announce(update, unlessEchoed(turn.prompter));
  }

  /** What follows is not stored either where this is not, and tells of it. */
  #failTools(tools: readonly string[]): void {
    for (const toolCallId of tools) {
      const update = { sessionUpdate: "tool_call_update", toolCallId, status: "failed" };
      this.#options.transcript.say(update).catch(() => {});
    }
  }
}

const STOPPED = new TrunklineError("closed", "Trunkline was stopped while the turn was running");

const NO_LONGER_WANTED = "The turn was cancelled";

/** Who is not shown what it said itself. */
function unlessEchoed(client: SessionClient | undefined): SessionClient | undefined {
  return client?.isEchoed === true ? undefined : client;
}

function wordsOf(error: unknown): string {
  // Words that are not ours may hold what is not to be shown.
  return error instanceof TrunklineError ? error.message : "The agent failed";
}

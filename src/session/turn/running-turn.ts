import { TrunklineError } from "../../base/errors.ts";
import { OWNER, type Principal } from "../../base/principal.ts";
import type { Span } from "../../base/trace.ts";
import { type Overspend, stopReasonFor, type TurnMeter } from "../budget/turn-meter.ts";
import type {
  ContentBlock,
  Meta,
  SessionUpdate,
  StopReason,
  Turn,
  TurnClient,
  TurnEnd,
} from "../agent.ts";
import type { SessionClient } from "../client/client.ts";
import type { PermissionOutcome, PermissionRequest } from "../permission/permission.ts";
import type { TurnRecording } from "./turn-recording.ts";

/** What a turn needs of its session. */
export interface TurnHost {
  say(update: SessionUpdate): Promise<void>;
  askPermission(turn: RunningTurn, request: PermissionRequest): Promise<PermissionOutcome>;
  services(turn: RunningTurn): TurnClient;
}

export interface TurnOptions {
  readonly prompt: readonly ContentBlock[];
  readonly prompter: SessionClient | undefined;
  readonly meta: Meta | undefined;
  /** Milliseconds without progress. */
  readonly timeout: number | undefined;
  /** Milliseconds between cancelling and giving the agent up. */
  readonly cancelGrace: number;
}

/** A prompt that is to join a running turn. */
export interface SteeringPrompt {
  readonly prompt: readonly ContentBlock[];
  /** Whether the client has not withdrawn it. */
  readonly isWanted: () => boolean;
  /** Called when the agent takes the prompt. */
  readonly taken: () => void;
}

const ENDED: ReadonlySet<unknown> = new Set(["completed", "failed"]);

/** Milliseconds between two messages that the turn waits. */
const WAITING_PAUSE = 5_000;

/** One prompt while an agent works on it. */
export class RunningTurn implements Turn {
  readonly id = crypto.randomUUID();
  readonly prompt: readonly ContentBlock[];
  readonly prompter: SessionClient | undefined;
  readonly _meta?: Meta;
  span: Span | undefined;
  readonly #controller = new AbortController();
  readonly signal = this.#controller.signal;
  readonly #host: TurnHost;
  readonly #options: TurnOptions;
  readonly #givenUp = Promise.withResolvers<never>();
  readonly #openTools = new Set<string>();
  readonly #steering: SteeringPrompt[] = [];
  #questions = 0;
  #toldWaitingAt = -Infinity;
  #progressAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #grace: NodeJS.Timeout | undefined;
  #paused: PromiseWithResolvers<void> | undefined;
  #isAgentPaused = false;
  #isAgentWaiting = false;
  #isOver = false;
  #isCancelled = false;
  #failure: Error | undefined;
  #meter: TurnMeter | undefined;
  #recording: TurnRecording | undefined;
  #spent: Overspend | undefined;
  /** The commit of the last update. Many updates share one, whose failure is handled once. */
  #stored: Promise<void> | undefined;

  constructor(host: TurnHost, options: TurnOptions) {
    this.#host = host;
    this.#options = options;
    this.prompt = options.prompt;
    this.prompter = options.prompter;
    if (options.meta !== undefined) this._meta = options.meta;
    this.#givenUp.promise.catch(() => {});
    if (options.timeout !== undefined) this.#watch(options.timeout);
  }

  get principal(): Principal {
    return this.prompter?.principal ?? OWNER;
  }

  get client(): TurnClient {
    return this.#host.services(this);
  }

  /** Ids of tool calls that have not completed or failed. */
  get openTools(): readonly string[] {
    return [...this.#openTools];
  }

  get isCancelled(): boolean {
    return this.#isCancelled;
  }

  /** Why an update could not be stored. It ends the turn. */
  get failure(): Error | undefined {
    return this.#failure;
  }

  /** How the turn ends, where a budget was used up. */
  get spentReason(): StopReason | undefined {
    return this.#spent === undefined ? undefined : stopReasonFor(this.#spent.amount);
  }

  /** Ends the turn when a budget is used up. */
  measure(meter: TurnMeter): void {
    this.#meter = meter;
    meter.begin({
      spent: (spent) => {
        this.#spent = spent;
        this.#tell(`Stopped: ${spent.words}`);
        this.#giveUpAfter(new TrunklineError("limit", spent.words));
      },
      warned: (words) => this.#tell(words),
    });
  }

  record(recording: TurnRecording | undefined): void {
    this.#recording = recording;
  }

  update(update: SessionUpdate): Promise<void> {
    // The agent may continue after its turn was given up.
    if (this.#isOver) return Promise.resolve();
    this.#progressAt = performance.now();
    if (update.sessionUpdate.startsWith("tool_call")) this.#followTool(update);
    const stored = this.#host.say(update);
    if (stored !== this.#stored) {
      this.#stored = stored;
      // The agent need not await its updates, so a failure is handled here.
      stored.catch(this.#notStored);
    }
    this.#meter?.saw(update);
    this.#recording?.saw(update);
    return stored;
  }

  requestPermission(request: PermissionRequest): Promise<PermissionOutcome> {
    if (this.#isOver || this.#isCancelled) return Promise.resolve({ outcome: "cancelled" });
    return this.whileWaiting(() => this.#host.askPermission(this, request));
  }

  progressed(): void {
    this.#progressAt = performance.now();
  }

  steering(): readonly ContentBlock[] | undefined {
    for (;;) {
      const next = this.#steering.shift();
      if (next?.isWanted() === false) continue;
      next?.taken();
      return next?.prompt;
    }
  }

  /** Offers a steering prompt to the agent, which may never take it. */
  steer(steering: SteeringPrompt): void {
    this.#steering.push(steering);
    this.progressed();
  }

  paused(): Promise<void> | undefined {
    return this.#paused?.promise;
  }

  /** Has the agent wait before its next step, or go on. */
  setPaused(isPaused: boolean): void {
    if (isPaused === (this.#paused !== undefined)) return;
    this.#paused?.resolve();
    this.#paused = isPaused ? Promise.withResolvers() : undefined;
    this.#tell(isPaused ? "Paused after the running step. `/continue` goes on." : "Goes on.");
  }

  /** An agent that pauses itself was told to pause, or to continue. It waits once no tool call is open. */
  agentPaused(isPaused: boolean): void {
    this.#isAgentPaused = isPaused;
    this.#followPause();
  }

  /** Suspends the prompt timeout, and the clock of the turn, while a client is asked. */
  readonly whileWaiting = async <T>(work: () => Promise<T>): Promise<T> => {
    this.#suspend();
    return await Promise.try(work).finally(() => this.#resume());
  };

  /** Stops the agent. After the grace, the turn ends without it. */
  cancel(reason: Error): void {
    if (this.#isOver || this.#isCancelled) return;
    this.#isCancelled = true;
    this.#giveUpAfter(reason);
  }

  /** Runs the agent until it ends the turn or is given up. */
  async run(work: (turn: Turn) => Promise<TurnEnd>): Promise<TurnEnd> {
    try {
      return await Promise.race([work(this), this.#givenUp.promise]);
    } finally {
      this.#isOver = true;
      clearTimeout(this.#timer);
      clearTimeout(this.#grace);
    }
  }

  /** An update that is not stored is never shown, so the agent is stopped. */
  readonly #notStored = (error: Error): void => {
    if (this.#isOver || this.#failure !== undefined) return;
    this.#failure = error;
    this.#giveUpAfter(error);
  };

  #giveUpAfter(reason: Error): void {
    this.#grace ??= setTimeout(() => this.#giveUp(reason), this.#options.cancelGrace);
    this.#controller.abort(reason);
    this.#paused?.resolve();
    this.agentPaused(false);
  }

  #suspend(): void {
    this.#questions++;
    this.#meter?.pause();
  }

  #resume(): void {
    this.#questions--;
    this.#meter?.resume();
    this.progressed();
  }

  #followPause(): void {
    const waits = this.#isAgentPaused && this.#openTools.size === 0;
    if (waits === this.#isAgentWaiting) return;
    this.#isAgentWaiting = waits;
    if (waits) this.#suspend();
    else this.#resume();
  }

  /** Work that a turn is still doing when a budget ends it, such as pushing a branch, is finished. */
  #giveUp(reason: Error): void {
    if (this.#spent === undefined || this.#isCancelled || this.#questions === 0) {
      this.#givenUp.reject(reason);
    } else this.#grace = setTimeout(() => this.#giveUp(reason), this.#options.cancelGrace);
  }

  /** Tells people that the turn waits; once, if several calls wait at the same time. */
  tellWaiting(words: string): void {
    const now = performance.now();
    if (now - this.#toldWaitingAt < WAITING_PAUSE) return;
    this.#toldWaitingAt = now;
    this.#tell(words);
  }

  /** Shows people a text of ours. */
  #tell(text: string): void {
    const content = { type: "text", text: `\n\n_${text}_\n\n` };
    const _meta = { "trunkline/aside": true };
    // A failure is handled by the update; nobody else waits for it.
    this.update({ sessionUpdate: "agent_message_chunk", content, _meta }).catch(() => {});
  }

  #watch(timeout: number): void {
    const left = this.#progressAt + timeout - performance.now();
    this.#timer = setTimeout(
      () => {
        const isWaiting = this.#questions > 0 || this.#openTools.size > 0;
        if (isWaiting) this.progressed();
        if (this.#progressAt + timeout > performance.now()) return this.#watch(timeout);
        const why = `The agent showed no progress for ${timeout} ms`;
        return this.#giveUpAfter(new TrunklineError("timeout", why));
      },
      Math.max(1, left),
    );
    this.#timer.unref();
  }

  #followTool({ toolCallId, status, sessionUpdate }: SessionUpdate): void {
    if (typeof toolCallId !== "string") return;
    if (ENDED.has(status)) this.#openTools.delete(toolCallId);
    else if (sessionUpdate === "tool_call") this.#openTools.add(toolCallId);
    this.#followPause();
  }
}

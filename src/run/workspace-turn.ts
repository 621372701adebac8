import type { ClientFiles, SessionUpdate, Turn, TurnClient } from "../session/agent.ts";

const OVER: ReadonlySet<unknown> = new Set(["completed", "failed"]);

/** A turn for the agent in a workspace: its files are those here, not the client's. */
export class WorkspaceTurn implements Turn {
  readonly id: string;
  readonly principal: Turn["principal"];
  readonly prompt: Turn["prompt"];
  readonly _meta?: NonNullable<Turn["_meta"]>;
  readonly stop: Turn["stop"];
  readonly steering?: NonNullable<Turn["steering"]>;
  readonly #turn: Turn;
  readonly #files: ClientFiles;
  readonly #toolEnded: () => void;

  constructor(turn: Turn, files: ClientFiles, toolEnded: () => void) {
    this.#turn = turn;
    this.#files = files;
    this.#toolEnded = toolEnded;
    this.id = turn.id;
    this.principal = turn.principal;
    this.prompt = turn.prompt;
    this.stop = turn.stop;
    if (turn._meta !== undefined) this._meta = turn._meta;
    if (turn.steering !== undefined) this.steering = () => turn.steering?.() ?? [];
  }

  get client(): TurnClient {
    const { terminal: _, ...rest } = this.#turn.client;
    return { ...rest, fs: this.#files };
  }

  update(update: SessionUpdate): Promise<void> {
    if (update.sessionUpdate.startsWith("tool_call") && OVER.has(update.status)) this.#toolEnded();
    return this.#turn.update(update);
  }

  requestPermission: Turn["requestPermission"] = (request) => this.#turn.requestPermission(request);

  progressed(): void {
    this.#turn.progressed();
  }

  paused(): Promise<void> | undefined {
    return this.#turn.paused?.();
  }

  whileWaiting<T>(work: () => Promise<T>): Promise<T> {
    return waiting(this.#turn, work);
  }
}

/** Does work during which the agent waits: fetching, queueing, pushing. It is no lack of progress. */
export function waiting<T>(turn: Turn, work: () => Promise<T>): Promise<T> {
  return turn.whileWaiting?.(work) ?? work();
}

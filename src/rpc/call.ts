import { Stopper } from "../base/stop.ts";
import type { Deadline } from "../base/limit/deadlines.ts";
import type { Room, Topic } from "../wire/channel.ts";
import type { Batch } from "./message/batch.ts";
import type { HeldId } from "./message/message.ts";
import type { Method } from "./method.ts";
import type { RequestOptions } from "./pending-requests.ts";
import type { Peer } from "./peer.ts";
import type { RequestEnd } from "./peer-options.ts";

/**
 * One incoming request or notification while it is being handled. It is stopped when the caller
 * cancels, the time is up or the connection dies.
 */
export class Call<S = unknown> extends Stopper {
  readonly peer: Peer<S>;
  /** What the connection keeps for its handlers. */
  readonly state: S;
  readonly method: string;
  readonly id: HeldId;
  /** For the peer: where the answer goes, when it is not sent alone. */
  readonly batch: Batch | undefined;
  /** For the peer: who wants to know how it ends. */
  observed: ((end: RequestEnd) => void) | undefined;
  /** It has its answer. */
  isSettled = false;
  #deadline: Deadline | undefined;
  #timeout = 0;

  constructor(peer: Peer<S>, method: string, id: HeldId, batch?: Batch) {
    super();
    this.peer = peer;
    this.state = peer.state;
    this.method = method;
    this.id = id;
    this.batch = batch;
  }

  /** The id as JSON text; "" for a notification. */
  get idText(): string {
    return String(this.id);
  }

  /** Tells the other side something that belongs to this call. */
  notify<P>(method: Method<P, void>, params: P): Room {
    return this.peer.notify(method, params, this.#topic);
  }

  /** Asks the other side something that this call needs to know. */
  request<P, R>(method: Method<P, R>, params: P, options: RequestOptions = {}): Promise<R> {
    return this.peer.request(method, params, { ...options, topic: this.#topic });
  }

  get #topic(): Topic {
    return { request: this.idText, isAnswer: false };
  }

  /** Tells the time limit that the work is getting on, so it counts from now. */
  progressed(): void {
    if (this.#deadline !== undefined) this.peer.deadlines.restart(this.#deadline, this.#timeout);
  }

  /** For the peer: the limit that runs for this call. */
  limitTo(milliseconds: number, expire: () => void): void {
    this.#timeout = milliseconds;
    this.#deadline = this.peer.deadlines.start(milliseconds, expire);
  }

  /** For the peer: the call has its answer. */
  settle(): void {
    this.isSettled = true;
    if (this.#deadline !== undefined) this.peer.deadlines.stop(this.#deadline);
    this.#deadline = undefined;
  }
}

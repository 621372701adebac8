import { reasonOf, type StopSignal } from "../base/abort.ts";
import { Deadline } from "../base/limit/deadline.ts";
import { TrunklineError } from "../base/errors.ts";
import { describeProblem, type Problem } from "../base/check.ts";
import type { Room, Topic } from "../wire/channel.ts";
import { TRUNKLINE } from "./codes.ts";
import type { Method } from "./method.ts";
import { RpcError } from "./rpc-error.ts";

export interface RequestOptions {
  /** Cancels the request: the other side is told, and the promise rejects with the signal's reason. */
  readonly signal?: StopSignal | undefined;
  /** Milliseconds to wait for the answer; no limit when left out. */
  readonly timeout?: number | undefined;
  /** The request of the other side that gave rise to this one, where there is one. */
  readonly topic?: Topic;
}

/** A request until its answer. */
interface PendingRequest {
  readonly method: Method<unknown, unknown>;
  readonly signal: StopSignal | undefined;
  readonly abort: () => void;
  readonly answer: PromiseWithResolvers<unknown>;
  deadline: Deadline | undefined;
}

/** How our requests reach the other side. */
export interface RequestLink {
  send(text: string, topic: Topic | undefined): Room;
  /** Tells the other side that an answer is no longer wanted. */
  cancel(id: number, reason: string): Room;
}

/** Our own requests that have no answer yet. */
export class PendingRequests {
  readonly #link: RequestLink;
  readonly #pending = new Map<number, PendingRequest>();
  /** Some peers hold ids in 32 bits, so they are small and counted up. */
  #nextId: number;
  #over: Error | undefined;

  constructor(link: RequestLink, firstId = 1) {
    this.#link = link;
    this.#nextId = firstId;
  }

  request(
    method: Method<unknown, unknown>,
    params: unknown,
    options: RequestOptions,
  ): Promise<unknown> {
    const { signal, timeout } = options;
    if (this.#over !== undefined) return Promise.reject(this.#over);
    if (signal?.aborted === true) return Promise.reject(reasonOf(signal));
    const id = this.#nextId++;
    // First of all, because it throws for parameters that JSON cannot hold.
    const text = JSON.stringify({ jsonrpc: "2.0", id, method: method.name, params });
    const pending: PendingRequest = {
      method,
      signal,
      abort: () => signal && this.#giveUp(id, reasonOf(signal)),
      answer: Promise.withResolvers<unknown>(),
      deadline: undefined,
    };
    this.#pending.set(id, pending);
    if (timeout !== undefined) {
      pending.deadline = new Deadline(timeout, () => {
        const error = `No answer to '${method.name}' within ${timeout} ms`;
        this.#giveUp(id, new TrunklineError("timeout", error));
      });
    }
    signal?.addEventListener("abort", pending.abort);
    this.#link.send(text, options.topic);
    return pending.answer.promise;
  }

  /** Settles the request that a response belongs to. False if there is none. */
  settle(id: unknown, message: { result?: unknown; error?: unknown }): boolean {
    const pending = this.#take(id);
    if (pending === undefined) return false;
    const { error, result } = message;
    if (error !== undefined && result !== undefined) {
      pending.answer.reject(malformed(pending, "has both a result and an error"));
    } else if (error !== undefined) {
      pending.answer.reject(
        toError(error) ?? malformed(pending, "has an error without code or message"),
      );
    } else {
      const problem = findProblem(pending.method, result);
      if (problem === undefined) pending.answer.resolve(result);
      else pending.answer.reject(malformed(pending, describeProblem("result", problem)));
    }
    return true;
  }

  /** The answer came but could not be read. */
  fail(id: unknown, error: Error): boolean {
    const pending = this.#take(id);
    pending?.answer.reject(error);
    return pending !== undefined;
  }

  /** The connection is over: nobody will answer. */
  failAll(error: Error): void {
    this.#over = error;
    for (const id of [...this.#pending.keys()]) this.fail(id, error);
  }

  #giveUp(id: number, error: Error): void {
    if (this.fail(id, error)) this.#link.cancel(id, error.message);
  }

  #take(id: unknown): PendingRequest | undefined {
    if (typeof id !== "number") return undefined;
    const pending = this.#pending.get(id);
    if (pending === undefined) return undefined;
    this.#pending.delete(id);
    pending.deadline?.stop();
    pending.signal?.removeEventListener("abort", pending.abort);
    return pending;
  }
}

/** A check that throws fails this request only, not the connection. */
function findProblem(method: Method<unknown, unknown>, result: unknown): Problem | undefined {
  try {
    return method.checkResult?.(result);
  } catch (error) {
    return { path: [], says: `cannot be checked: ${String(error)}` };
  }
}

function malformed({ method }: PendingRequest, what: string): RpcError {
  return RpcError.of(TRUNKLINE.badAnswer, `the response to '${method.name}' is malformed: ${what}`);
}

function toError(error: unknown): RpcError | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { code, message, data } = error as Record<string, unknown>;
  if (typeof code !== "number" || typeof message !== "string") return undefined;
  return new RpcError(code, message, data);
}

/**
 * One request of ours gets no answer, because its transport failed; other requests go on. The message
 * completes the sentence "it …".
 */
export class LostRequest extends TrunklineError {
  /** Nothing of it has reached the other side, so it can be sent again safely. */
  readonly isUnsent: boolean;

  constructor(message: string, { isUnsent }: { readonly isUnsent: boolean }) {
    super("closed", message);
    this.isUnsent = isUnsent;
  }
}

import { atMost, onAbort } from "../../../base/abort.ts";
import type { BusCall } from "../../../protocol/bus/serve.ts";

/** The calls that a plugin is answering. They can be cancelled together. */
export class RunningCalls {
  readonly #running = new Set<AbortController>();
  #idle: PromiseWithResolvers<void> | undefined;
  #reason: Error | undefined;

  /** Runs a call until it ends, its caller has gone, or all calls are cancelled. */
  async run<T>(
    call: Partial<Pick<BusCall, "signal">>,
    work: (signal: AbortSignal) => T | Promise<T>,
  ): Promise<T> {
    const running = new AbortController();
    this.#running.add(running);
    using ends = new DisposableStack();
    ends.defer(() => {
      this.#running.delete(running);
      if (this.#running.size === 0) this.#idle?.resolve();
    });
    ends.defer(onAbort(call.signal, (reason) => running.abort(reason)));
    if (this.#reason !== undefined) running.abort(this.#reason);
    return await work(running.signal);
  }

  /** Cancels all calls, those to come as well. */
  stopAll(reason: Error): void {
    this.#reason = reason;
    for (const running of this.#running) running.abort(reason);
  }

  /** Resolves when no call is running, or after so many milliseconds. */
  async idle(longest: number): Promise<void> {
    if (this.#running.size === 0) return;
    this.#idle = Promise.withResolvers();
    await atMost(longest, this.#idle.promise);
  }
}

import { atMost } from "../../../base/at-most.ts";
import { type Stop, Stopper } from "../../../base/stop.ts";
import type { BusCall } from "../../../protocol/bus/serve.ts";

/** The calls that a plugin is answering. They can be cancelled together. */
export class RunningCalls {
  readonly #running = new Set<Stopper>();
  #idle: PromiseWithResolvers<void> | undefined;
  #reason: Error | undefined;

  /** Runs until its work is done, or its caller has gone, or all is called off. */
  async run<T>(
    call: Pick<BusCall, "stop">,
    work: (stopper: Stopper) => T | Promise<T>,
  ): Promise<T> {
    const running = new Stopper();
    const gone = { stopped: (reason: Error): void => running.stop(reason) };
    call.stop.add(gone);
    this.#running.add(running);
    if (this.#reason !== undefined) running.stop(this.#reason);
    try {
      return await work(running);
    } finally {
      call.stop.remove(gone);
      this.#running.delete(running);
      if (this.#running.size === 0) this.#idle?.resolve();
    }
  }

  /** Calls off all that runs and all that will. */
  stopAll(reason: Error): void {
    this.#reason = reason;
    for (const running of this.#running) running.stop(reason);
  }

  /** Resolves when nothing runs, or after so many milliseconds. */
  async idle(longest: number): Promise<void> {
    if (this.#running.size === 0) return;
    this.#idle = Promise.withResolvers();
    await atMost(longest, this.#idle.promise);
  }
}

/** A stop that never comes. */
export const NO_STOP: Stop = new Stopper();

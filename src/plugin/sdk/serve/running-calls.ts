import { Chain, type Link } from "../../../base/chain.ts";
import { type Stop, type StopListener, Stopper } from "../../../base/stop.ts";
import type { BusCall } from "../../../protocol/bus/serve.ts";

/** One of them. */
class RunningCall extends Stopper implements Link<RunningCall>, StopListener {
  before: RunningCall | undefined;
  after: RunningCall | undefined;

  /** Its caller has gone. */
  stopped(reason: Error): void {
    this.stop(reason);
  }
}

/** The calls that a plugin is answering. They can be cancelled together. */
export class RunningCalls {
  readonly #running = new Chain<RunningCall>();
  #idle: PromiseWithResolvers<void> | undefined;
  #reason: Error | undefined;

  /**
   * Runs until its work is done, or its caller has gone, or all is called off. Work that is done at once
   * has its result at once.
   */
  run<T>(call: Pick<BusCall, "stop">, work: (stopper: Stopper) => T): T {
    const running = new RunningCall();
    call.stop.add(running);
    this.#running.add(running);
    if (this.#reason !== undefined) running.stop(this.#reason);
    let isLater = false;
    try {
      const result = work(running);
      isLater = result instanceof Promise;
      return isLater ? (this.#until(result as Promise<unknown>, call, running) as T) : result;
    } finally {
      if (!isLater) this.#end(call, running);
    }
  }

  async #until<T>(
    result: Promise<T>,
    call: Pick<BusCall, "stop">,
    running: RunningCall,
  ): Promise<T> {
    try {
      return await result;
    } finally {
      this.#end(call, running);
    }
  }

  #end(call: Pick<BusCall, "stop">, running: RunningCall): void {
    call.stop.remove(running);
    this.#running.delete(running);
    if (this.#running.size === 0) this.#idle?.resolve();
  }

  /** Calls off all that runs and all that will. */
  stopAll(reason: Error): void {
    this.#reason = reason;
    for (const running of this.#running.all()) running.stop(reason);
  }

  /** Resolves when nothing runs, or after so many milliseconds. */
  async idle(longest: number): Promise<void> {
    if (this.#running.size === 0) return;
    this.#idle = Promise.withResolvers();
    const timer = setTimeout(this.#idle.resolve, longest);
    await this.#idle.promise;
    clearTimeout(timer);
  }
}

/** A stop that never comes. */
export const NO_STOP: Stop = new Stopper();

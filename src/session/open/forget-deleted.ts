import { setTimeout as delay } from "node:timers/promises";

import { background } from "../../base/background.ts";
import type { Log } from "../../base/log.ts";
import type { SharedSessions } from "./session-sharing.ts";

/** Milliseconds between two looks. */
const EVERY = 60_000;

export interface ForgetDeletedOptions {
  readonly deleted: NonNullable<SharedSessions["deletedElsewhere"]>;
  /** Removes what this machine has of a session beside its events. */
  readonly forget: (id: string, run: unknown) => Promise<unknown>;
  readonly log: Log;
  readonly every?: number;
}

/** Removes what this machine has of sessions that were deleted while other nodes had them open. */
export class ForgetDeleted implements AsyncDisposable {
  readonly #options: ForgetDeletedOptions;
  readonly #over = new AbortController();
  readonly #work: Promise<void>;

  constructor(options: ForgetDeletedOptions) {
    this.#options = options;
    this.#work = this.#run();
    background(this.#work, "Forgetting sessions that were deleted elsewhere");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#work;
  }

  async #run(): Promise<void> {
    const { every = EVERY, log } = this.#options;
    const { signal } = this.#over;
    while (!signal.aborted) {
      try {
        await this.#look(signal);
      } catch (error) {
        // It looks again later.
        if (!signal.aborted) log.warn("session.not-forgotten", { error });
      }
      await delay(every, undefined, { signal, ref: false }).catch(() => {});
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { deleted, forget } = this.#options;
    for await (const { id, run, drop } of deleted()) {
      if (signal.aborted) return;
      await forget(id, run);
      await drop();
    }
  }
}

import { TrunklineError } from "../base/errors.ts";
import type { AgentSession } from "../session/agent.ts";
import type { Run } from "./run.ts";

/** A run whose workspace and agent are being prepared, or are ready. */
export class Attempt {
  readonly run: Run;
  readonly inner: Promise<AgentSession>;
  readonly #ends: AsyncDisposableStack;
  readonly #stop: AbortController;
  #ending: Promise<void> | undefined;

  constructor(
    run: Run,
    inner: Promise<AgentSession>,
    ends: AsyncDisposableStack,
    stop: AbortController,
  ) {
    this.run = run;
    this.inner = inner;
    this.#ends = ends;
    this.#stop = stop;
  }

  end(): Promise<void> {
    this.#ending ??= this.#end();
    return this.#ending;
  }

  async #end(): Promise<void> {
    this.#stop.abort(new TrunklineError("unavailable", "The session has ended."));
    this.run.stop();
    const inner = await this.inner.catch(() => undefined);
    await inner?.[Symbol.asyncDispose]();
    await this.#ends.disposeAsync();
    await this.run.close();
  }
}

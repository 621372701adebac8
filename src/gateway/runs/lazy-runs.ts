import type { Principal } from "../../base/principal.ts";
import type { Agent } from "../../session/agent.ts";
import type { SessionSetup } from "../../session/sessions.ts";
import type { House } from "../house.ts";
import type { OpenedRuns } from "./open-runs.ts";

/** Remote runs, loaded and opened with the first that is asked for. */
export class LazyRuns implements AsyncDisposable {
  readonly #house: House;
  #opening: Promise<OpenedRuns> | undefined;

  constructor(house: House) {
    this.#house = house;
  }

  /** Where a new session works that asks for a run; undefined where it asks for none. */
  async place(
    { _meta }: { readonly _meta?: unknown },
    principal: Principal,
  ): Promise<SessionSetup | undefined> {
    const { remote } = (_meta ?? {}) as { remote?: unknown };
    if (remote === undefined || remote === null) return undefined;
    return (await this.#opened()).place(_meta, principal);
  }

  /** An agent that works on what a session was placed with. */
  async agent(name: string, run: unknown): Promise<Agent> {
    return (await this.#opened()).agent(name, run);
  }

  /** Removes what is kept of a run whose session is deleted. */
  async remove(run: unknown): Promise<void> {
    await (await this.#opened()).remove(run);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.[Symbol.asyncDispose]();
  }

  #opened(): Promise<OpenedRuns> {
    this.#opening ??= this.#open();
    return this.#opening;
  }

  async #open(): Promise<OpenedRuns> {
    try {
      const { openRuns } = await import("./open-runs.ts");
      return await openRuns(this.#house);
    } catch (error) {
      // Clear the failure, so that the next run tries again.
      this.#opening = undefined;
      throw error;
    }
  }
}

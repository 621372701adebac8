import type { Sessions } from "../../session/sessions.ts";
import type { House } from "../house.ts";
import type { OpenedSessions, OpenSessionsOptions } from "./sessions.ts";

/** The sessions of a house, loaded and opened with the first that is asked for. */
export class LazySessions implements AsyncDisposable {
  readonly #house: House;
  readonly #options: OpenSessionsOptions;
  #opening: Promise<OpenedSessions> | undefined;

  constructor(house: House, options: OpenSessionsOptions = {}) {
    this.#house = house;
    this.#options = options;
  }

  readonly open = async (): Promise<Sessions> => {
    this.#opening ??= this.#open();
    return (await this.#opening).sessions;
  };

  /** The sessions, if any was asked for. */
  get opened(): Promise<Sessions> | undefined {
    return this.#opening?.then(({ sessions }) => sessions);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const opened = await this.#opening?.catch(() => undefined);
    await opened?.[Symbol.asyncDispose]();
  }

  async #open(): Promise<OpenedSessions> {
    try {
      const { openSessions } = await import("./sessions.ts");
      return await openSessions(this.#house, this.#options);
    } catch (error) {
      // The next one may fare better: a disk that was full, say.
      this.#opening = undefined;
      throw error;
    }
  }
}

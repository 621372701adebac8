import { Lazy } from "../../base/lazy.ts";
import type { Reach } from "../../protocol/acp/relay/session-links.ts";
import type { Sessions } from "../../session/sessions.ts";
import type { House } from "../house.ts";
import type { OpenedSessions, OpenSessionsOptions } from "./sessions.ts";

/** The sessions of a house, loaded and opened for the first request. */
export class LazySessions implements AsyncDisposable {
  readonly #sessions: Lazy<OpenedSessions>;

  constructor(house: House, options: OpenSessionsOptions = {}) {
    this.#sessions = new Lazy(async () => {
      const { openSessions } = await import("./sessions.ts");
      return openSessions(house, options);
    });
  }

  readonly open = async (): Promise<Sessions> => (await this.#sessions.get()).sessions;

  /** The id under which this process holds sessions, by which others reach it. */
  readonly holder = async (): Promise<string> => (await this.#sessions.get()).holder;

  /** See `OpenedSessions.answer`. */
  readonly answer: OpenedSessions["answer"] = async (answer, by) =>
    (await this.#sessions.get()).answer(answer, by);

  /** The sessions, if they were opened. */
  async opened(): Promise<Sessions | undefined> {
    return (await this.#sessions.opened())?.sessions;
  }

  /** Ends everything that a principal started whose access has ended. */
  async endOf(principal: string): Promise<void> {
    await (await this.opened())?.endOf(principal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#sessions.opened())?.[Symbol.asyncDispose]();
  }
}

/** Reaches the processes that have sessions of a data folder open. */
export function reachIn(data: string): Reach {
  return async (holder, principal) => {
    const { reachHolder } = await import("./holder-socket.ts");
    return await reachHolder(data, holder, principal);
  };
}

/** Finds the running gateway in which sessions are opened, if there is one. */
export function homeOf({ config }: House, env = process.env): () => Promise<string | undefined> {
  return async () => {
    const { sessionHome } = await import("./session-home.ts");
    return await sessionHome(config, env);
  };
}

import { TaskQueue } from "../../base/limit/task-queue.ts";
import type { Countdown } from "./countdown.ts";
import { Refused, textContent, type ToolWork } from "./agent-tool.ts";

/** Asks the person about the hosts that a command connects to, one after the other. */
export class HostQuestions {
  /** Has the time of the command stand still meanwhile. */
  pausedWhile: Countdown["pausedWhile"] = (work) => work();
  readonly #allow: ToolWork["allow"];
  readonly #queue = new TaskQueue();

  constructor(allow: ToolWork["allow"]) {
    this.#allow = allow;
  }

  ask(host: string): Promise<boolean> {
    return this.#queue.run(() => this.pausedWhile(() => this.#isAllowed(host)));
  }

  async #isAllowed(host: string): Promise<boolean> {
    try {
      await this.#allow({
        subject: { action: "connect", host },
        covers: `connections of commands to ${host}`,
        title: `Connect to ${host}`,
        content: [textContent(`The command wants to connect to \`${host}\`.`)],
      });
      return true;
    } catch (error) {
      if (error instanceof Refused) return false;
      throw error;
    }
  }
}

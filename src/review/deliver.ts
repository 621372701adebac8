import type { Message } from "../store/review/review-thread.ts";
import type { ToolContext } from "../tool/tool.ts";
import type { ReviewCommands } from "./review-commands.ts";
import { messagesText } from "./message-text.ts";
import type { FoundRepository } from "./repository.ts";

export interface DeliverOptions {
  readonly reader: string;
  readonly gitDir: string | undefined;
  /** The work tree that the reader is in, where that is known. */
  readonly here: FoundRepository | undefined;
  /** Messages in one answer. */
  readonly batch: number;
  readonly first: "newest" | "oldest";
}

/**
 * Gives readers what waits for them, each message once. A message is taken before it is answered
 * with, and counts as delivered once the answer has left; what is killed in between is given again.
 */
export class Deliveries {
  readonly #commands: ReviewCommands;
  readonly #report: (error: unknown) => void;
  readonly #leaving = new Set<Promise<void>>();

  constructor(commands: ReviewCommands, report: (error: unknown) => void) {
    this.#commands = commands;
    this.#report = report;
  }

  /** The text of the next batch; undefined where nothing waits. */
  async next(
    options: DeliverOptions,
    context: Pick<ToolContext, "signal">,
  ): Promise<string | undefined> {
    const { reader, gitDir, batch, first } = options;
    const { reviews } = this.#commands;
    const messages = await reviews.take({ reader, gitDir, limit: batch, first });
    if (messages.length === 0) return undefined;
    let text: string;
    try {
      text = messagesText(await this.#commands.locateMessages(messages, options.here));
    } catch (error) {
      await reviews.takeBack(reader, messages.map(seqOf)).catch(this.#report);
      throw error;
    }
    this.#leave(reader, messages, context);
    return text;
  }

  /** Resolves when it is written down what has left. */
  async settled(): Promise<void> {
    await Promise.all(this.#leaving);
  }

  #leave(
    reader: string,
    messages: readonly Message[],
    { signal }: Pick<ToolContext, "signal">,
  ): void {
    const { reviews } = this.#commands;
    const seqs = messages.map(seqOf);
    const leaving = answered()
      .then(() => (signal.aborted ? reviews.takeBack(reader, seqs) : reviews.sent(reader, seqs)))
      .catch(this.#report)
      .finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }
}

/**
 * Channels write what was sent in one turn at its end. This comes right after that: in the next turn
 * another request could be in the way, and being killed during that would count for this one.
 */
function answered(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(() => setImmediate(resolve));
  });
}

function seqOf({ seq }: Message): number {
  return seq;
}

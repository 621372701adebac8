import type { Message } from "../store/review/review-thread.ts";
import type { ToolContext } from "../tool/tool.ts";
import type { ReviewCommands } from "./review-commands.ts";
import { messagesText } from "./message-text.ts";
import type { FoundRepository } from "./repository.ts";

export interface DeliverOptions {
  readonly reader: string;
  readonly gitDir: string | undefined;
  /** The reader's work tree, if known. */
  readonly here: FoundRepository | undefined;
  /** The most messages in one answer. */
  readonly batch: number;
  readonly first: "newest" | "oldest";
}

/**
 * Delivers waiting messages to readers, each once. A message is claimed before the answer is sent,
 * and counts as delivered when the answer has been written. If the process is killed in between,
 * the message is delivered again.
 */
export class Deliveries {
  readonly #commands: ReviewCommands;
  readonly #report: (error: unknown) => void;
  readonly #leaving = new Set<Promise<void>>();

  constructor(commands: ReviewCommands, report: (error: unknown) => void) {
    this.#commands = commands;
    this.#report = report;
  }

  /** The text of the next batch; undefined if nothing is waiting. */
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

  /** Resolves when all sent answers are recorded. */
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
 * Channels write everything that was sent in one turn of the event loop at its end. This resolves
 * right after that write: one turn later, another request could already be running, and a kill
 * during it would lose this record.
 */
function answered(): Promise<void> {
  return new Promise((resolve) => {
    process.nextTick(() => setImmediate(resolve));
  });
}

function seqOf({ seq }: Message): number {
  return seq;
}

import { afterSending, beforeSending } from "../base/event-loop.ts";
import type { Delivery, DeliveryRequest } from "../store/review/reviews-delivery.ts";
import type { ToolContext } from "../tool/tool.ts";
import type { ReviewCommands } from "./review-commands.ts";
import { messagesText } from "./message-text.ts";
import type { FoundRepository } from "./repository.ts";

export interface DeliverOptions extends DeliveryRequest {
  /** The reader's work tree, if known. */
  readonly here: FoundRepository | undefined;
}

/** Messages as a reader gets them. */
export interface Delivered {
  readonly text: string;
  /** What the reader acknowledges them with. */
  readonly id: string;
  /** Ids of the threads, in the order of the messages. */
  readonly threads: readonly string[];
}

/**
 * Delivers waiting messages to readers. A message is claimed before the answer is sent, and counts as
 * delivered when the answer has been written. If the process is killed while it writes, nobody can
 * tell whether the answer arrived: the message is delivered once more, unless the reader acknowledges
 * it with its next call.
 */
export class Deliveries {
  readonly #commands: ReviewCommands;
  readonly #report: (error: unknown) => void;
  readonly #leaving = new Set<Promise<void>>();

  constructor(commands: ReviewCommands, report: (error: unknown) => void) {
    this.#commands = commands;
    this.#report = report;
  }

  /** The next batch; undefined if nothing is waiting. */
  async next(
    options: DeliverOptions,
    context: Pick<ToolContext, "signal">,
  ): Promise<Delivered | undefined> {
    const { reviews } = this.#commands;
    const delivery = await reviews.take(options);
    const { id, messages } = delivery;
    if (messages.length === 0) return undefined;
    let text: string;
    try {
      text = messagesText(await this.#commands.locateMessages(messages, options.here));
    } catch (error) {
      await reviews.takeBack(options.reader, seqsOf(delivery)).catch(this.#report);
      throw error;
    }
    this.#leave(delivery, context);
    return { text, id, threads: messages.map(({ thread }) => thread) };
  }

  /** Resolves when all sent answers are recorded. */
  async settled(): Promise<void> {
    await Promise.all(this.#leaving);
  }

  #leave(delivery: Delivery, { signal }: Pick<ToolContext, "signal">): void {
    const { reviews } = this.#commands;
    const { reader } = delivery;
    const seqs = seqsOf(delivery);
    beforeSending(() => {
      try {
        if (!signal.aborted) reviews.leaving(reader, seqs);
      } catch (error) {
        this.#report(error);
      }
    });
    const left = Promise.withResolvers<void>();
    // What is noted is on its way to the disk when this returns: a promise would wait for its turn.
    afterSending(() => {
      left.resolve(signal.aborted ? reviews.takeBack(reader, seqs) : reviews.sent(reader, seqs));
    });
    const leaving = left.promise.catch(this.#report).finally(() => this.#leaving.delete(leaving));
    this.#leaving.add(leaving);
  }
}

function seqsOf({ messages }: Delivery): number[] {
  return messages.map(({ seq }) => seq);
}

import type { Topic } from "../../wire/channel.ts";

/** Collects the answers to one batch and sends them together, once all are there (JSON-RPC 2.0 § 6). */
export class Batch {
  readonly #send: (text: string, topic: Topic) => unknown;
  readonly #answers: string[] = [];
  #open = 0;
  #sealed = false;
  #topic: Topic | undefined;

  /** Sends what was collected under the topic of its last answer. */
  constructor(send: (text: string, topic: Topic) => unknown) {
    this.#send = send;
  }

  /** One more answer will come. */
  expect(): void {
    this.#open++;
  }

  add(answer: string, topic: Topic): void {
    this.#answers.push(answer);
    this.#topic = topic;
    this.#open--;
    this.#finish();
  }

  /** An expected answer will not come: the dialect forbids it. */
  skip(): void {
    this.#open--;
    this.#finish();
  }

  /** The whole batch has been read. */
  seal(): void {
    this.#sealed = true;
    this.#finish();
  }

  #finish(): void {
    if (!this.#sealed || this.#open > 0 || this.#topic === undefined) return;
    this.#send(`[${this.#answers.join(",")}]`, this.#topic);
    this.#topic = undefined;
    this.#answers.length = 0;
  }
}

/** Why a batch is refused; undefined if it is not. */
export function refuseBatch(size: number, isKnown: boolean, most: number): string | undefined {
  if (size === 0) return "batch is empty";
  if (!isKnown) return "batches are not supported";
  // A batch may not have more messages than may be in flight.
  return size > most ? `batch of ${size} messages is over ${most}` : undefined;
}

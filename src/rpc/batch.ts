/** Collects the answers to one batch and sends them together, once all are there. */
export class Batch {
  readonly #send: (text: string) => void;
  readonly #answers: string[] = [];
  #open = 0;
  #sealed = false;

  constructor(send: (text: string) => void) {
    this.#send = send;
  }

  /** One more answer will come. */
  expect(): void {
    this.#open++;
  }

  add(answer: string): void {
    this.#answers.push(answer);
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
    if (!this.#sealed || this.#open > 0 || this.#answers.length === 0) return;
    this.#send(`[${this.#answers.join(",")}]`);
    this.#answers.length = 0;
  }
}

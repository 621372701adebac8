/** Pauses a stream until all promises that hold it have settled. */
export class ReadHold {
  readonly #stream: { pause(): void; resume(): void };
  #holds = 0;

  constructor(stream: { pause(): void; resume(): void }) {
    this.#stream = stream;
  }

  until(hold: Promise<void>): void {
    this.#holds++;
    this.#stream.pause();
    const release = (): void => {
      this.#holds--;
      if (this.#holds === 0) this.#stream.resume();
    };
    hold.then(release, release);
  }
}

/** Hears that work is called off. */
export interface StopListener {
  stopped(reason: Error): void;
}

/** The end that work may come to before it is done. */
export interface Stop {
  /** For whoever takes only such. */
  readonly signal: AbortSignal;
  /** Tells the listener once: when the work is called off, or at once when it already was. */
  add(listener: StopListener): void;
  remove(listener: StopListener): void;
}

/**
 * Calls work off, as an `AbortController` does, but makes its signal for whoever asks for it. Most
 * work is never called off, and a signal with a listener costs more than the message that asked for
 * the work.
 */
export class Stopper implements Stop {
  #reason: Error | undefined;
  #controller: AbortController | undefined;
  readonly #listeners = new Set<StopListener>();

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** Why the work was called off, if it was. */
  get reason(): Error | undefined {
    return this.#reason;
  }

  add(listener: StopListener): void {
    if (this.#reason === undefined) this.#listeners.add(listener);
    else listener.stopped(this.#reason);
  }

  remove(listener: StopListener): void {
    this.#listeners.delete(listener);
  }

  stop(reason: Error): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    const listeners = [...this.#listeners];
    this.#listeners.clear();
    this.#controller?.abort(reason);
    for (const listener of listeners) listener.stopped(reason);
  }
}

/** What a signal says, as a stop. */
export class SignalStop implements Stop {
  readonly signal: AbortSignal;
  readonly #handlers = new Map<StopListener, () => void>();

  constructor(signal: AbortSignal) {
    this.signal = signal;
  }

  add(listener: StopListener): void {
    const { signal } = this;
    const handle = (): void => {
      this.#handlers.delete(listener);
      const reason: unknown = signal.reason;
      listener.stopped(reason instanceof Error ? reason : new Error(String(reason)));
    };
    if (signal.aborted) {
      handle();
      return;
    }
    this.#handlers.set(listener, handle);
    signal.addEventListener("abort", handle, { once: true });
  }

  remove(listener: StopListener): void {
    const handle = this.#handlers.get(listener);
    if (handle === undefined) return;
    this.#handlers.delete(listener);
    this.signal.removeEventListener("abort", handle);
  }
}

import { createParser } from "eventsource-parser";

export interface ServerEvent {
  readonly name: string;
  readonly data: string;
}

export type StreamState =
  | { readonly is: "connecting" }
  | { readonly is: "live" }
  /** The connection is lost; the next attempt is at that time. */
  | { readonly is: "waiting"; readonly until: number }
  /** The server does not accept this browser's login any more. */
  | { readonly is: "refused" };

interface StreamOptions {
  /** The address of the next attempt. */
  readonly url: () => string;
  readonly onEvent: (event: ServerEvent) => void;
  readonly onState: (state: StreamState) => void;
  readonly lastId?: string;
  readonly backoff?: { readonly first: number; readonly longest: number };
  /** Milliseconds without a byte after which the connection counts as dead. */
  readonly silence?: number;
}

const BACKOFF = { first: 500, longest: 15_000 };
const SILENCE_MS = 60_000;

/**
 * A stream of server-sent events that comes back: after a lost connection it asks for what followed the
 * last complete event, and waits longer after each failed attempt. A browser's own EventSource gives up
 * at the first error status, and does not tell that it waits.
 */
export class EventStream {
  readonly #options: StreamOptions;
  /** The id of the last complete event. */
  lastId: string;
  readonly #end = new AbortController();
  #attempt = new AbortController();
  #failures = 0;
  #wake: (() => void) | undefined;

  constructor(options: StreamOptions) {
    this.#options = options;
    this.lastId = options.lastId ?? "";
    this.#run().catch((error: unknown) => reportError(error));
  }

  /** Tries again now: the person asked, or the network came back. */
  retry(): void {
    this.#failures = 0;
    this.#wake?.();
  }

  close(): void {
    this.#end.abort();
    this.#attempt.abort();
    this.#wake?.();
  }

  async #run(): Promise<void> {
    while (!this.#end.signal.aborted) {
      this.#say({ is: "connecting" });
      const outcome = await this.#connect();
      if (this.#end.signal.aborted) return;
      if (outcome === "refused") {
        this.#say({ is: "refused" });
        return;
      }
      await this.#pause();
    }
  }

  /** Reads one connection to its end. */
  async #connect(): Promise<"lost" | "refused"> {
    const { url, silence = SILENCE_MS, onEvent } = this.#options;
    const attempt = new AbortController();
    this.#attempt = attempt;
    let watchdog = setTimeout(() => attempt.abort(), silence);
    try {
      const response = await fetch(url(), {
        headers: {
          accept: "text/event-stream",
          ...(this.lastId === "" ? {} : { "last-event-id": this.lastId }),
        },
        signal: attempt.signal,
      });
      if (response.status === 401 || response.status === 403) return "refused";
      if (!response.ok || response.body === null) return "lost";
      this.#failures = 0;
      this.#say({ is: "live" });
      const parser = createParser({
        onEvent: ({ event: name = "message", data, id = this.lastId }) => {
          this.lastId = id;
          onEvent({ name, data });
        },
      });
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done || this.#end.signal.aborted) return "lost";
        clearTimeout(watchdog);
        watchdog = setTimeout(() => attempt.abort(), silence);
        parser.feed(value);
      }
    } catch {
      // The message of a network error differs by browser and is not shown: the state says that it is lost.
      return "lost";
    } finally {
      clearTimeout(watchdog);
      attempt.abort();
    }
  }

  async #pause(): Promise<void> {
    const { first, longest } = this.#options.backoff ?? BACKOFF;
    const wait = Math.min(longest, first * 2 ** this.#failures) * (0.75 + Math.random() / 2);
    this.#failures++;
    this.#say({ is: "waiting", until: Date.now() + wait });
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, wait);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#wake = undefined;
  }

  #say(state: StreamState): void {
    if (!this.#end.signal.aborted) this.#options.onState(state);
  }
}

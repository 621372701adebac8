import type { ServerResponse } from "node:http";

/** An answer that is sent line by line, each JSON, while something is being done for the page. */
export class JsonLines<T extends object> {
  readonly #response: ServerResponse;
  readonly #closed = new AbortController();
  /** Aborted when the page closes the request, or the dashboard ends. */
  readonly signal = this.#closed.signal;

  constructor(response: ServerResponse) {
    this.#response = response;
    response.once("close", () => this.stop());
    response.writeHead(200, {
      "content-type": "application/x-ndjson; charset=utf-8",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
  }

  /** A page that reads slowly misses a line that is `lossy`. */
  write(line: T, lossy = false): void {
    const { writableEnded, destroyed, writableNeedDrain } = this.#response;
    if (writableEnded || destroyed || (lossy && writableNeedDrain)) return;
    this.#response.write(`${JSON.stringify(line)}\n`);
  }

  stop(): void {
    this.#closed.abort(new Error("The page does not wait for it any more"));
  }

  end(): void {
    this.#response.end();
  }
}

import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

import type { LiveEvent } from "../../../src/server/dashboard/api.ts";
import { loadWebFiles } from "../../../src/server/dashboard/web-files.ts";

const WEB = join(import.meta.dirname, "../../../dist/web");

export type Answers = Readonly<Record<string, (call: SampleCall) => unknown>>;

export interface SampleCall {
  readonly query: URLSearchParams;
  readonly body: Readonly<Record<string, unknown>>;
  /** What `*` in the path stood for. */
  readonly parts: readonly string[];
}

/**
 * Stands for `trunkline serve` where a test needs rows that would take long to make for real, such as
 * ten thousand sessions: the built application, and answers that the test gives. Everything that is
 * about behaviour is tested with the real program.
 */
export class SampleDashboard implements AsyncDisposable {
  readonly #server: Server;
  readonly #files: Awaited<ReturnType<typeof loadWebFiles>>;
  readonly #answers: Answers;
  readonly #streams = new Set<ServerResponse>();
  #lastId = 0;

  private constructor(files: Awaited<ReturnType<typeof loadWebFiles>>, answers: Answers) {
    this.#files = files;
    this.#answers = answers;
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch((error: unknown) => {
        response.writeHead(500).end(JSON.stringify({ error: String(error) }));
      });
    });
  }

  static async start(answers: Answers): Promise<SampleDashboard> {
    const dashboard = new SampleDashboard(await loadWebFiles(WEB), answers);
    dashboard.#server.listen(0, "127.0.0.1");
    await once(dashboard.#server, "listening");
    return dashboard;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** Sends a live event to every page. */
  send(event: LiveEvent): void {
    const text = `id: 00000000.${++this.#lastId}\nevent: ${event.event}\ndata: ${JSON.stringify(event.data)}\n\n`;
    for (const stream of this.#streams) stream.write(text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname, searchParams: query } = new URL(request.url ?? "/", this.url);
    if (pathname === "/" || pathname.startsWith("/assets/")) {
      return this.#files.send(pathname, request, response);
    }
    if (pathname === "/api/events") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('id: 00000000.0\nevent: hello\ndata: {"epoch":"sample","version":"0"}\n\n');
      this.#streams.add(response);
      response.on("close", () => this.#streams.delete(response));
      return undefined;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    const body = (text === "" ? {} : JSON.parse(text)) as SampleCall["body"];
    for (const [pattern, answer] of Object.entries(this.#answers)) {
      const match = matching(pattern, `${request.method} ${pathname}`);
      if (match === undefined) continue;
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify(await answer({ query, body, parts: match })));
      return undefined;
    }
    response.writeHead(404, { "content-type": "application/json" });
    response.end(JSON.stringify({ error: `The sample has no ${request.method} ${pathname}` }));
    return undefined;
  }
}

function matching(pattern: string, path: string): string[] | undefined {
  const expected = pattern.split("/");
  const found = path.split("/");
  if (expected.length !== found.length) return undefined;
  if (!expected.every((part, index) => part === "*" || part === found[index])) return undefined;
  return found.filter((_, index) => expected[index] === "*").map(decodeURIComponent);
}

import { timingSafeEqual } from "node:crypto";
import { once } from "node:events";
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { TrunklineError } from "../../base/errors.ts";

const HOST = "127.0.0.1";
const PATH = "/callback";

/**
 * The address that the browser comes back to after a login. Only what carries the secret `state` of this
 * login counts: other web pages and programs can reach the port, too.
 */
export class Callback implements AsyncDisposable {
  readonly #server: Server;
  readonly #state: string;
  readonly #came = Promise.withResolvers<URLSearchParams>();
  #redirectUri = "";

  private constructor(state: string) {
    this.#state = state;
    this.#server = createServer((request, response) => {
      const { method, url = "", headers } = request;
      const target = URL.parse(url, this.#redirectUri);
      const isOurs =
        `http://${headers.host}${PATH}` === this.#redirectUri && target?.pathname === PATH;
      if (!isOurs) answer(response, 404, "There is nothing here.");
      else if (method !== "GET") answer(response, 405, "There is nothing here.");
      else if (this.#take(target))
        answer(response, 200, "You can close this page and go back to Trunkline.");
      else
        answer(
          response,
          400,
          "This is not the login that Trunkline waits for. Start it again there.",
        );
    });
  }

  /** Listens on the port, or on any free one. */
  static async open(state: string, port = 0): Promise<Callback> {
    const callback = new Callback(state);
    const server = callback.#server.listen(port, HOST);
    try {
      await once(server, "listening");
    } catch (error) {
      const why = (error as Error).message;
      throw new TrunklineError("unavailable", `Cannot wait for the browser: ${why}`);
    }
    callback.#redirectUri = `http://${HOST}:${(server.address() as AddressInfo).port}${PATH}`;
    return callback;
  }

  get redirectUri(): string {
    return this.#redirectUri;
  }

  /** What the authorization server has sent with the browser. */
  get came(): Promise<URLSearchParams> {
    return this.#came.promise;
  }

  /** Takes an address that a person has copied from a browser. Whether it is of this login. */
  paste(text: string): boolean {
    const url = URL.parse(text.trim());
    return url !== null && url.href.startsWith(this.#redirectUri) && this.#take(url);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    // The answer to the browser may be under way; its connection is not kept.
    this.#server.closeIdleConnections();
    await closed;
  }

  #take({ searchParams }: URL): boolean {
    const said = Buffer.from(searchParams.get("state") ?? "");
    const expected = Buffer.from(this.#state);
    if (said.length !== expected.length || !timingSafeEqual(said, expected)) return false;
    this.#came.resolve(searchParams);
    return true;
  }
}

function answer(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, {
    "content-type": "text/html; charset=utf-8",
    "content-security-policy": "default-src 'none'",
    "cache-control": "no-store",
    // The address has the code of the login.
    "referrer-policy": "no-referrer",
    connection: "close",
  });
  response.end(`<!doctype html><title>Trunkline</title><p>${text}</p>`);
}

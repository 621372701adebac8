import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";

import { AcpApp } from "../../../../test/support/acp-app.ts";
import { until } from "../../../../test/support/until.ts";
import { AcpHttp, type AcpHttpOptions } from "./acp-http.ts";

const HELLO = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } };
const CONNECTION = "acp-connection-id";

/** The door on a real server. Who asks is said by a header, as access control would find out. */
class Served implements AsyncDisposable {
  readonly app: AcpApp;
  readonly acp: AcpHttp;
  readonly #server: Server;

  private constructor(app: AcpApp, options: Partial<AcpHttpOptions>) {
    this.app = app;
    const { door } = app;
    this.acp = new AcpHttp({ door, peerOptions: door.peerOptions, ...options });
    this.#server = createServer((request, response) => {
      this.acp.handle(request, response, { id: String(request.headers["x-principal"] ?? "ann") });
    });
  }

  static async open(options: Partial<AcpHttpOptions> = {}): Promise<Served> {
    const served = new Served(await AcpApp.open(), options);
    served.#server.listen(0, "127.0.0.1");
    await once(served.#server, "listening");
    return served;
  }

  fetch(method: string, headers: Record<string, string> = {}, body?: object | string) {
    const { port } = this.#server.address() as AddressInfo;
    return fetch(`http://127.0.0.1:${port}/acp`, {
      method,
      headers: {
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined
        ? {}
        : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    });
  }

  async status(method: string, headers: Record<string, string> = {}, body?: object | string) {
    const response = await this.fetch(method, headers, body);
    await response.body?.cancel();
    return response.status;
  }

  /** Says hello; gives the header that goes with every request after it. */
  async connect(principal = "ann"): Promise<Record<string, string>> {
    const response = await this.fetch("POST", { "x-principal": principal }, HELLO);
    await response.body?.cancel();
    assert.equal(response.status, 200);
    return { [CONNECTION]: response.headers.get(CONNECTION) ?? "", "x-principal": principal };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.acp.close(0);
    this.#server.closeAllConnections();
    this.#server.close();
    await this.app[Symbol.asyncDispose]();
  }
}

const LIST = { jsonrpc: "2.0", id: 2, method: "session/list", params: {} };
const STREAM = { accept: "text/event-stream" };

describe("AcpHttp", { timeout: 30_000 }, () => {
  it("answers initialize at once, accepts other messages with 202, and answers them on the stream", async () => {
    await using served = await Served.open();
    const connection = await served.connect();
    assert.equal(await served.status("POST", connection, LIST), 202);
    const stream = await served.fetch("GET", { ...connection, ...STREAM });
    const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    while (!text.includes("\n\n")) text += (await reader?.read())?.value ?? "";
    assert.match(text, /"id":2,"result":\{"sessions":\[\]\}/);
    await reader?.cancel();
  });

  it("does not let a principal use, read or close the connection of another", async () => {
    await using served = await Served.open();
    const connection = await served.connect();
    const bob = { ...connection, "x-principal": "bob" };
    assert.equal(await served.status("POST", bob, LIST), 404);
    assert.equal(await served.status("GET", { ...bob, ...STREAM }), 404);
    assert.equal(await served.status("DELETE", bob), 404);
    assert.equal(served.acp.size, 1);
  });

  it("gives each stream one reader", async () => {
    await using served = await Served.open();
    const connection = await served.connect();
    const first = await served.fetch("GET", { ...connection, ...STREAM });
    assert.equal(first.status, 200);
    assert.equal(await served.status("GET", { ...connection, ...STREAM }), 409);
    const session = { ...connection, ...STREAM, "acp-session-id": "s" };
    const other = await served.fetch("GET", session);
    assert.equal(other.status, 200, "a session has a stream of its own");
    await Promise.all([first.body?.cancel(), other.body?.cancel()]);
  });

  it("reports what is wrong with a request by its HTTP status", async () => {
    await using served = await Served.open();
    const connection = await served.connect();
    const mismatch = { ...connection, "acp-session-id": "one" };
    const close = { jsonrpc: "2.0", id: 3, method: "session/close", params: { sessionId: "two" } };
    for (const [status, method, headers, body] of [
      [405, "PUT", connection, undefined],
      [415, "POST", { ...connection, "content-type": "text/plain" }, LIST],
      [400, "POST", connection, "{"],
      [400, "POST", connection, [LIST]],
      [400, "POST", connection, "7"],
      [400, "POST", connection, HELLO],
      [400, "POST", mismatch, close],
      [400, "POST", {}, LIST],
      [404, "POST", { [CONNECTION]: "unknown" }, LIST],
      [406, "GET", connection, undefined],
      [426, "GET", {}, undefined],
    ] as const) {
      assert.equal(await served.status(method, headers, body), status, `${status} ${method}`);
    }
  });

  it("closes a connection on DELETE, or when its principal's access ends", async () => {
    const changes: string[] = [];
    await using served = await Served.open({ onChange: (change) => changes.push(change) });
    const [ann, bob] = [await served.connect("ann"), await served.connect("bob")];
    assert.equal(await served.status("DELETE", ann), 202);
    served.acp.endOf("bob");
    await until(() => served.acp.size === 0);
    assert.equal(await served.status("POST", bob, LIST), 404);
    assert.deepEqual(changes, ["opened", "opened", "closed", "closed"]);
  });

  it("refuses a connection too many, or closes an idle one", async () => {
    await using served = await Served.open({ maxConnections: 2 });
    const connections = [await served.connect(), await served.connect()];
    const streams = await Promise.all(
      connections.map((each) => served.fetch("GET", { ...each, ...STREAM })),
    );
    assert.equal(await served.status("POST", {}, HELLO), 503, "both are read");
    await streams[0]?.body?.cancel();
    await until(async () => (await served.status("POST", {}, HELLO)) !== 503);
    assert.equal(served.acp.size, 2);
    await streams[1]?.body?.cancel();
  });

  it("limits the connections of one client, and closes none of others for it", async () => {
    await using served = await Served.open({ maxConnections: 4 });
    const hers = await served.connect("ann");
    const first = await served.connect("eve");
    for (let count = 0; count < 4; count++) await served.connect("eve");
    assert.equal(served.acp.size, 4);
    assert.equal(await served.status("POST", hers, LIST), 202);
    assert.equal(await served.status("POST", first, LIST), 404);
  });
});

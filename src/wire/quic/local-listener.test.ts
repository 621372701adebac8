import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server, type Socket } from "node:net";
import { describe, it } from "node:test";

import { ask, echo, keepEngine, testCredentials } from "../../../test/support/quic-pair.ts";
import type { Listener, ListenOptions } from "./connection.ts";
import { connect, listen } from "./transport.ts";

const HELLO = Buffer.from("hello");

async function serving(address: string, more: Partial<ListenOptions> = {}): Promise<Listener> {
  const { server } = await testCredentials();
  const stream: ListenOptions["stream"] = (one) => void echo(one).catch(() => {});
  return listen(address, { credentials: server, stream, ...more });
}

/** Which transport a client of an address without a scheme gets, after it has called something. */
async function transportTo(port: number, limits = {}): Promise<string> {
  const { client } = await testCredentials();
  await using connection = await connect(`localhost:${port}`, { credentials: client, limits });
  assert.deepEqual(await ask(connection, HELLO), HELLO);
  return connection.address;
}

/** Another program at the TCP port of a bus that serves only QUIC. */
async function stranger(port: number, answer: (socket: Socket) => void): Promise<Server> {
  // Only a socket that is read notices that the other side has closed it.
  const server = createServer((socket) => answer(socket.on("error", () => {}).resume()));
  server.listen(port, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** A listener over QUIC, and another program at the TCP port of the same number, if nobody else has that. */
async function besides(answer: (socket: Socket) => void): Promise<[Listener, Server]> {
  for (;;) {
    const listener = await serving("quic://127.0.0.1:0");
    try {
      return [listener, await stranger(listener.port, answer)];
    } catch (error) {
      await listener[Symbol.asyncDispose]();
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    }
  }
}

describe("an address of this machine without a scheme", { timeout: 60_000 }, () => {
  keepEngine();

  it("is served over both transports at one port, and dialled over the faster one", async () => {
    await using listener = await serving("localhost:0");
    assert.match(listener.address, /^127\.0\.0\.1:\d+$/);
    assert.equal(await transportTo(listener.port), `tls://localhost:${listener.port}`);
    const { client } = await testCredentials();
    for (const scheme of ["quic", "tls"]) {
      const address = `${scheme}://127.0.0.1:${listener.port}`;
      await using connection = await connect(address, { credentials: client });
      assert.deepEqual(await ask(connection, HELLO), HELLO);
    }
  });

  it("is dialled over QUIC if only that is served", async () => {
    await using listener = await serving("quic://127.0.0.1:0");
    assert.equal(await transportTo(listener.port), `quic://localhost:${listener.port}`);
  });

  for (const [what, answer] of [
    ["hangs up", (socket: Socket) => socket.destroy()],
    ["speaks something else", (socket: Socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")],
    ["says nothing", (socket: Socket) => socket.resume()],
  ] as const) {
    it(`is dialled over QUIC if another program at the TCP port ${what}`, async () => {
      const [quic, program] = await besides(answer);
      await using listener = quic;
      await using other = program;
      const limits = { handshakeTimeout: 1_500 };
      assert.equal(await transportTo(listener.port, limits), `quic://localhost:${listener.port}`);
      other.close();
    });
  }

  it("cannot be served twice, nor beside another program at the TCP port", async () => {
    await using listener = await serving("127.0.0.1:0");
    await assert.rejects(serving(listener.address), { code: "config", message: /in use/ });
    const [quic, program] = await besides((socket) => socket.destroy());
    await using _ = quic;
    const address = `127.0.0.1:${quic.port}`;
    await program[Symbol.asyncDispose]();
    await assert.rejects(serving(address), { code: "config", message: /in use/ });
    // The half that could listen was closed again.
    await using other = await stranger(quic.port, (socket) => socket.destroy());
    await assert.rejects(serving(address), { code: "config", message: /in use/ });
    other.close();
  });

  it("takes renewed certificates over both transports", async () => {
    const { ca, client } = await testCredentials();
    await using listener = await serving("127.0.0.1:0");
    await listener.renew(await ca.issue("renewed"));
    for (const scheme of ["quic", "tls"]) {
      const address = `${scheme}://127.0.0.1:${listener.port}`;
      await using connection = await connect(address, { credentials: client });
      assert.equal(connection.peer?.name, "renewed");
    }
  });

  it("is refused with the reason of the transport that answered", async () => {
    const { ca, client } = await testCredentials();
    await using listener = await serving("127.0.0.1:0");
    const where = `localhost:${listener.port}`;
    await assert.rejects(connect(where, { credentials: { ca: ca.pem } }), {
      trouble: "no-certificate",
    });
    await using onlyTls = await serving("tls://127.0.0.1:0");
    await assert.rejects(connect(`127.0.0.1:${onlyTls.port}`, { credentials: { ca: ca.pem } }), {
      trouble: "no-certificate",
    });
    await listener[Symbol.asyncDispose]();
    await assert.rejects(connect(where, { credentials: client }), { trouble: "refused" });
  });
});

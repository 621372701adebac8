import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { describe, it } from "node:test";

import { noOtherUser, runAsOtherUser } from "../../../test/support/other-user.ts";
import { peerUser } from "./browser-logins.ts";

const noTables = process.platform === "linux" ? false : "only Linux tells whose a connection is";

/** A server that tells each connection whose it is. */
async function serve(host: string): Promise<AsyncDisposable & { port: number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    socket.write(peerUser(socket));
  }).listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.close();
      for (const socket of sockets) socket.destroy();
      await once(server, "close");
    },
  };
}

/** A connection of this program, and what it is told. */
async function ask(host: string, port: number): Promise<{ says: string; socket: Socket }> {
  const socket = connect({ host, port });
  const [chunk] = (await once(socket, "data")) as [Buffer];
  return { says: chunk.toString(), socket };
}

/** The same from a program of another user, whose end is an address and port of its choice. */
function askAsOther(host: string, port: number, from: object = {}): Promise<string> {
  const options = JSON.stringify({ host, port, ...from });
  return runAsOtherUser(
    `require("net").connect(${options}).on("data", (it) => { process.stdout.write(it); process.exit(); });`,
  );
}

describe("peerUser()", { timeout: 600_000, skip: noTables }, () => {
  it("recognises our own program, over IPv4, IPv6, and IPv4 inside of IPv6", async () => {
    for (const [listens, address] of [
      ["127.0.0.1", "127.0.0.1"],
      ["::", "127.0.0.1"],
      ["::", "::ffff:127.0.0.1"],
      ["::", "::1"],
      ["0.0.0.0", "127.8.9.10"],
      ["0.0.0.0", "::ffff:127.0.0.1"],
    ] as const) {
      await using server = await serve(listens);
      const { says, socket } = await ask(address, server.port);
      socket.destroy();
      assert.equal(says, "owner", `${listens} ${address}`);
    }
  });

  it("recognises a program of another user", { skip: noOtherUser }, async () => {
    for (const listens of ["127.0.0.1", "::"]) {
      await using server = await serve(listens);
      assert.equal(await askAsOther("127.0.0.1", server.port), "other");
    }
  });

  it(
    "recognises another user who has the port of an owner's connection on another address",
    { skip: noOtherUser },
    async () => {
      for (const [listens, own, same] of [
        ["0.0.0.0", "127.0.0.1", { localAddress: "127.0.0.2" }],
        ["::", "127.0.0.1", { localAddress: "127.0.0.2" }],
        ["::", "::1", { host: "127.0.0.1", localAddress: "127.0.0.2" }],
      ] as const) {
        const server = createServer().listen(0, listens);
        await once(server, "listening");
        const { port } = server.address() as AddressInfo;
        const client = connect({ host: own, port });
        const [ours] = (await once(server, "connection")) as [Socket];
        const { remotePort: localPort } = ours;
        const ended = askAsOther(own, port, { ...same, localPort });
        const [theirs] = (await once(server, "connection")) as [Socket];
        // Both are open: neither is taken for the other.
        assert.deepEqual([ours, theirs].map(peerUser), ["owner", "other"], `${listens} ${own}`);
        theirs.end("told");
        await ended;
        for (const socket of [client, ours, theirs]) socket.destroy();
        server.close();
        await once(server, "close");
      }
    },
  );

  it("treats a connection of this machine that no table lists as another user's", () => {
    const from = (ends: Partial<Socket>): string => peerUser(ends as Socket);
    const to = { remotePort: 1, localAddress: "127.0.0.1", localPort: 2 };
    assert.equal(from({ ...to, remoteAddress: "127.0.0.1" }), "other");
    assert.equal(from({ ...to, remoteAddress: "::ffff:127.0.0.1" }), "other");
    assert.equal(from({ ...to, remoteAddress: "::1" }), "other");
    assert.equal(from({ ...to, remoteAddress: "192.0.2.1" }), "remote");
    assert.equal(from({ ...to, remoteAddress: "2001:db8::1" }), "remote");
    assert.equal(from({}), "unknown");
  });
});

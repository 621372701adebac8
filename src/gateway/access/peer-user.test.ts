import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { describe, it } from "node:test";

import { asOtherUser, noOtherUser } from "../../../test/support/other-user.ts";
import { isFromOtherUser } from "./peer-user.ts";

const noTables = process.platform === "linux" ? false : "only Linux tells whose a connection is";

/** A server that answers whether a request is from another user. */
async function serve(host: string): Promise<AsyncDisposable & { port: number }> {
  const server = createServer((request, response) => {
    response.end(String(isFromOtherUser(request)));
  }).listen(0, host);
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

async function ask(address: string, port: number, host: string): Promise<string> {
  const sent = httpRequest({ host: address, port, headers: { host }, agent: false }).end();
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return String(await response.setEncoding("utf8").toArray());
}

describe("isFromOtherUser()", { timeout: 600_000, skip: noTables }, () => {
  it("recognises our own program, over IPv4 and as an IPv6-mapped address", async () => {
    for (const host of ["127.0.0.1", "::"]) {
      await using server = await serve(host);
      assert.equal(await ask("127.0.0.1", server.port, "localhost"), "false", host);
    }
  });

  it("recognises a program of another user", { skip: noOtherUser }, async () => {
    await using server = await serve("127.0.0.1");
    const headers = { host: "localhost" };
    const { body } = await asOtherUser({ port: server.port, path: "/", headers });
    assert.equal(body, "true");
    // Under another name a proxy may have passed it on, which runs as whoever it does.
    const named = { host: "tools.example.com" };
    const passed = await asOtherUser({ port: server.port, path: "/", headers: named });
    assert.equal(passed.body, "false");
  });

  it("treats a connection that no table lists as another user's, and a remote one as unknown", () => {
    const from = (socket: Partial<Socket>): boolean =>
      isFromOtherUser({ headers: { host: "localhost" }, socket } as IncomingMessage);
    assert.equal(from({ remoteAddress: "127.0.0.1", remotePort: 1, localPort: 2 }), true);
    assert.equal(from({ remoteAddress: "::ffff:127.0.0.1", remotePort: 1, localPort: 2 }), true);
    assert.equal(from({ remoteAddress: "192.0.2.1", remotePort: 1, localPort: 2 }), false);
    assert.equal(from({ remoteAddress: "127.0.0.1", localPort: 2 }), false);
    assert.equal(from({}), false);
  });
});

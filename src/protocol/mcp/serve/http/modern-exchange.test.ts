import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { RecordingSink } from "../../../../../test/support/recording-sink.ts";
import { beforeSending } from "../../../../base/event-loop.ts";
import { MCP, STANDARD } from "../../../../rpc/codes.ts";
import { resolveChannelLimits, ROOM } from "../../../../wire/channel.ts";
import { ModernExchange } from "./modern-requests.ts";
import { covers } from "../../../../../test/support/requirement.ts";

const ANSWER = { request: "1", isAnswer: true };

/** A request that was read, the exchange that answers it, and its client. */
async function exchanging(closeGrace = 200) {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const client = request({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" });
  client.on("error", () => {}).end();
  const [, response] = (await once(server, "request")) as [IncomingMessage, ServerResponse];
  const exchange = new ModernExchange(response, resolveChannelLimits({ closeGrace }));
  const sink = new RecordingSink();
  exchange.receive(sink);
  exchange.onOver(() => {});
  return {
    exchange,
    response,
    client,
    sink,
    async answer(): Promise<IncomingMessage> {
      const [answer] = (await once(client, "response")) as [IncomingMessage];
      return answer;
    },
    async [Symbol.asyncDispose]() {
      client.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

describe("ModernExchange", { timeout: 600_000 }, () => {
  it("answers with one JSON text, which arrives completely even if it is disposed at once", async () => {
    await using talk = await exchanging(30_000);
    // More than the system would take by itself.
    const body = JSON.stringify({ result: "é".repeat(8_000_000) });
    assert.equal(talk.exchange.send(body, ANSWER), ROOM);
    assert.ok(talk.exchange.isAnswered);
    void talk.exchange.send("has no place", ANSWER);
    void talk.exchange.send("nor has this");
    const disposed = talk.exchange[Symbol.asyncDispose]();
    const answer = await talk.answer();
    assert.equal(answer.statusCode, 200);
    assert.equal(answer.headers["content-type"], "application/json");
    assert.ok((await text(answer)) === body, "the body was cut off");
    await disposed;
    assert.deepEqual(talk.sink.ends, []);
  });

  it("answers also where a record has to be written first, even if it is disposed at once", async () => {
    await using talk = await exchanging(30_000);
    let isWritten = false;
    beforeSending(() => (isWritten = true));
    void talk.exchange.send("{}", ANSWER);
    const disposed = talk.exchange[Symbol.asyncDispose]();
    const answer = await talk.answer();
    assert.ok(isWritten);
    assert.deepEqual([answer.statusCode, await text(answer)], [200, "{}"]);
    await disposed;
  });

  it("uses an error status only if the request itself is wrong", async () => {
    covers("mcp.modern-http.status");
    const statuses = [
      [STANDARD.methodNotFound.code, 404],
      [MCP.headerMismatch.code, 400],
      [STANDARD.internal.code, 200],
    ];
    for (const [errorCode, status] of statuses) {
      await using talk = await exchanging();
      void talk.exchange.send("{}", { ...ANSWER, errorCode });
      assert.equal((await talk.answer()).statusCode, status);
    }
  });

  it("becomes a stream with the first message before the answer, and ends with the answer", async () => {
    await using talk = await exchanging();
    void talk.exchange.send("1");
    const answer = await talk.answer();
    assert.equal(answer.headers["content-type"], "text/event-stream");
    void talk.exchange.send("2", { ...ANSWER, errorCode: STANDARD.methodNotFound.code });
    assert.equal(await text(answer), "event: message\ndata: 1\n\nevent: message\ndata: 2\n\n");
  });

  it("becomes a stream with the second keep-alive", async () => {
    await using talk = await exchanging();
    talk.exchange.keepAlive();
    assert.ok(!talk.response.headersSent);
    talk.exchange.keepAlive();
    const answer = await talk.answer();
    void talk.exchange.send("1", ANSWER);
    assert.equal(await text(answer), ": keepalive\n\nevent: message\ndata: 1\n\n");
  });

  it("tells its sink that the client has disconnected before the answer, not after", async () => {
    await using left = await exchanging();
    left.client.destroy();
    await left.sink.until(({ ends }) => ends.length > 0);
    assert.match(String(left.sink.ends[0]), /The client closed the connection/);

    await using done = await exchanging();
    void done.exchange.send("{}", ANSWER);
    const over = once(done.response, "close");
    await text(await done.answer());
    await over;
    assert.deepEqual(done.sink.ends, []);
  });

  it("closes the connection if it is disposed before the answer", async () => {
    await using talk = await exchanging();
    const gone = once(talk.client, "error");
    await talk.exchange[Symbol.asyncDispose]();
    const [error] = (await gone) as [Error];
    assert.match(error.message, /hang up/);
  });

  it("closes the connection of a client that does not read its answer within the grace", async () => {
    await using talk = await exchanging(1);
    void talk.client.on("response", (answer) => answer.on("error", () => {}).pause());
    void talk.exchange.send("x".repeat(64 * 1024 * 1024), ANSWER);
    await talk.exchange[Symbol.asyncDispose]();
    if (!talk.response.closed) await once(talk.response, "close");
    assert.ok(!talk.response.writableFinished);
  });
});

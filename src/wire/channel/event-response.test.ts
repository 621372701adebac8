import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, get, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";

import { resolveChannelLimits, ROOM } from "../channel.ts";
import { EventResponse } from "./event-response.ts";

const LIMITS = resolveChannelLimits({ highWater: 256 * 1024, maxUnsent: 1024 * 1024 });

/** One exchange: the server's response, and what the client gets of it. */
async function exchange() {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const request = get({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" });
  request.on("error", () => {});
  const [, response] = (await once(server, "request")) as [IncomingMessage, ServerResponse];
  return {
    response,
    async client(): Promise<IncomingMessage> {
      const [answer] = (await once(request, "response")) as [IncomingMessage];
      return answer.on("error", () => {});
    },
    async [Symbol.asyncDispose]() {
      request.destroy();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

describe("EventResponse", { timeout: 600_000 }, () => {
  it("sends events as they come, and keep-alives only between them", async () => {
    await using talk = await exchange();
    const events = new EventResponse(talk.response, LIMITS, { "x-more": "1" });
    events.flush();
    const answer = await talk.client();
    assert.equal(answer.headers["content-type"], "text/event-stream");
    assert.equal(answer.headers["x-more"], "1");
    assert.equal(events.send("data: 1\n\n"), ROOM);
    events.keepAlive();
    events.keepAlive();
    events.end("data: 2\n\n");
    assert.ok(!events.isOpen);
    void events.send("data: 3\n\n");
    let text = "";
    for await (const chunk of answer.setEncoding("utf8")) text += String(chunk);
    assert.equal(text, "data: 1\n\n: keepalive\n\ndata: 2\n\n");
  });

  it("asks to wait for a reader that falls behind, until it has read", async () => {
    await using talk = await exchange();
    const events = new EventResponse(talk.response, { ...LIMITS, maxUnsent: Infinity });
    const answer = talk.client();
    let room = ROOM;
    while (room === ROOM) {
      room = events.send("x".repeat(64 * 1024));
      await new Promise((resolve) => setImmediate(resolve));
    }
    (await answer).resume();
    await room;
  });

  it("closes the connection of a reader that never reads", async () => {
    await using talk = await exchange();
    const events = new EventResponse(talk.response, LIMITS);
    // Whoever does not look at a response at all has it read for them.
    void talk.client();
    for (let sent = 0; events.isOpen; sent++) {
      assert.ok(sent < 1000, "unsent events were kept without bound");
      void events.send("x".repeat(64 * 1024));
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(events.send("more"), ROOM);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { until } from "../../../../test/support/until.ts";
import { Peer } from "../../../rpc/peer.ts";
import { Offer } from "../../../tool/offer/offer.ts";
import { memoryPair } from "../../../wire/channel/memory.ts";
import { Connection } from "./connection.ts";
import { McpDoor, relayNotices } from "./door.ts";
import { mcpDialect } from "../dialect.ts";

describe("relayNotices()", () => {
  it("drops messages while the client does not read, and continues when it does", async () => {
    const [near, far] = memoryPair({ highWater: 1_000, closeGrace: 100 });
    const connection = new Connection();
    connection.agree("2025-11-25", {}, {});
    connection.logLevel = "info";
    const peer = new Peer(near, connection, { dialect: mcpDialect, routes: new Map() });
    const door = new McpDoor({ offer: new Offer() });
    const { notices } = door.offer;
    relayNotices(door, connection, peer);
    // A second time is no second allowance.
    relayNotices(door, connection, peer);
    const post = (data: unknown): void => notices.post({ level: "warn", logger: "a", data });
    for (let time = 0; time < 1_000; time++) post("x".repeat(100));
    const heard: string[] = [];
    const last = Promise.withResolvers<void>();
    far.receive({
      message: (text) => {
        heard.push(text);
        if (text.includes("last")) last.resolve();
      },
      fault() {},
      end() {},
    });
    // Room is made by what was read.
    await until(() => heard.length > 0);
    await new Promise((resolve) => setImmediate(resolve));
    post("last");
    await last.promise;
    assert.ok(heard.length < 20, `${heard.length} messages`);
    connection[Symbol.dispose]();
    post("nobody hears this");
    await peer.close();
    assert.match(heard.at(-1) ?? "", /last/);
  });

  it("sends messages to a client that set no level, and then those of the level it sets", async () => {
    const [near, far] = memoryPair({ highWater: 100_000, closeGrace: 100 });
    const connection = new Connection();
    connection.agree("2024-11-05", {}, {});
    const peer = new Peer(near, connection, { dialect: mcpDialect, routes: new Map() });
    const door = new McpDoor({ offer: new Offer() });
    const { notices } = door.offer;
    const news = {
      level: "info",
      logger: "a",
      message: "New",
      data: { n: 1 },
      isNews: true,
    } as const;
    relayNotices(door, connection, peer);
    notices.post(news);
    notices.post({ level: "error", logger: "a", data: "not asked for" });
    connection.logLevel = "warning";
    notices.post(news);
    notices.post({ level: "error", logger: "a", data: "asked for" });
    const heard: unknown[] = [];
    const ended = Promise.withResolvers<void>();
    far.receive({
      message: (text) => void heard.push((JSON.parse(text) as { params: unknown }).params),
      fault() {},
      end: () => ended.resolve(),
    });
    connection[Symbol.dispose]();
    await Promise.all([peer.close(), ended.promise]);
    assert.deepEqual(heard, [
      { level: "info", message: "New", logger: "a", data: { n: 1 } },
      { level: "error", logger: "a", data: "asked for" },
    ]);
  });
});

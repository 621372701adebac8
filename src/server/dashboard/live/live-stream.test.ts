import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";

import { OWNER, type Principal } from "../../../base/principal.ts";
import { DashboardPage } from "../../../../test/support/dashboard-page.ts";
import { LiveRows } from "./live-rows.ts";
import { liveStream, placeOf, type Tail } from "./live-stream.ts";

const all = (): boolean => true;

/** A server whose every request is a live stream. */
class StreamServer implements AsyncDisposable {
  readonly rows: LiveRows;
  readonly #server: Server;
  readonly #running: Promise<void>[] = [];

  constructor(rows: LiveRows, tail?: Tail, principal: Principal = OWNER) {
    this.rows = rows;
    this.#server = createServer((request: IncomingMessage, response) => {
      const query = new URLSearchParams(request.url?.split("?", 2)[1]);
      const stream = liveStream(response, {
        rows,
        principal,
        tail,
        place: placeOf(request, query),
      });
      this.#running.push(stream.run());
    });
  }

  async page(): Promise<DashboardPage> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const { port } = this.#server.address() as AddressInfo;
    return new DashboardPage(`http://127.0.0.1:${port}`, {});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
    await Promise.all(this.#running);
  }
}

describe("a live stream", () => {
  it(
    "ends if the store fails, so that the browser connects again",
    { timeout: 30_000 },
    async () => {
      const failure = new Error("disk I/O error");
      const tail = {
        session: "s",
        read: () => Promise.reject(failure),
        asks: async () => [],
        listen: () => ({ [Symbol.dispose]: () => {} }),
      } as unknown as Tail;
      const server = createServer((_, response) => {
        const place = { epoch: undefined, n: undefined, after: 0 };
        const options = { rows: new LiveRows(), principal: OWNER, tail, place };
        const stream = liveStream(response, options as never);
        void assert.rejects(stream.run(), failure);
      }).listen(0, "127.0.0.1");
      await once(server, "listening");
      const { port } = server.address() as AddressInfo;
      const response = await fetch(`http://127.0.0.1:${port}`);
      assert.match(await response.text(), /hello/);
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  );

  it("goes on after the last event that a reader has seen", async () => {
    const rows = new LiveRows();
    await using server = new StreamServer(rows);
    using page = await server.page();
    const live = await page.events();
    await live.find("hello");
    rows.set("server", "a", { at: 1 }, all);
    await live.find("server", ({ id }) => id === "a");
    live.close();
    rows.set("server", "b", { at: 2 }, all);
    rows.set("server", "b", { at: 3 }, all);
    const again = await page.events("", live.lastId);
    const { row } = await again.find("server");
    assert.deepEqual(row, { at: 3 });
    assert.deepEqual(
      again.events.map(({ event }) => event),
      ["hello", "server"],
    );
  });

  it("tells a reader that has missed too much, or comes from another process, to load again", async () => {
    const rows = new LiveRows(1);
    await using server = new StreamServer(rows);
    using page = await server.page();
    rows.set("server", "a", {}, all);
    const old = `${rows.epoch}.0`;
    for (const id of ["b", "c"]) rows.set("server", id, {}, all);
    for (const last of [old, "00000000.1", `${rows.epoch}.99`]) {
      const live = await page.events(`?last=${last}`);
      await live.find("reset");
    }
    const fresh = await page.events("?last=nonsense");
    rows.set("server", "d", {}, all);
    await fresh.find("server", ({ id }) => id === "d");
    assert.equal(
      fresh.events.some(({ event }) => event === "reset"),
      false,
    );
  });

  it("tells a principal of nothing that is not for it", async () => {
    const rows = new LiveRows();
    const guest = { id: "guest" };
    await using server = new StreamServer(rows, undefined, guest);
    using page = await server.page();
    const live = await page.events();
    await live.find("hello");
    rows.set("session", "secret", {}, ({ id }) => id === "");
    rows.set("session", "own", {}, ({ id }) => id === "guest");
    await live.find("session");
    assert.equal(
      live.events.some(({ data }) => "id" in data && data.id === "secret"),
      false,
    );
  });

  it("holds nothing for a slow reader: it gets the last of each row, and every event of its session", async () => {
    const rows = new LiveRows();
    const listeners = new Set<() => void>();
    let last = 0;
    let reads = 0;
    const tail: Tail = {
      session: "s",
      read: async (from) => {
        reads++;
        const events = [];
        for (let seq = from; seq <= Math.min(last, from + 99); seq++) {
          events.push({ seq, at: 0, direction: "agent" as const, message: "x".repeat(5_000) });
        }
        return { session: "s", events, last };
      },
      asks: async () => [],
      listen: (listener) => {
        listeners.add(listener);
        return { [Symbol.dispose]: () => listeners.delete(listener) };
      },
    };
    await using server = new StreamServer(rows, tail);
    using page = await server.page();
    const live = await page.events("?after=0");
    await live.find("hello");
    live.pause();
    for (let at = 0; at < 50_000; at++) rows.set("server", "busy", { at }, all);
    last = 4_000;
    for (const listener of listeners) listener();
    for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate);
    assert.ok(reads < 40, "more is read only when there is room for it");
    live.resume();
    await live.until(() => (live.lastId.endsWith(".4000") ? true : undefined));
    const numbers = live.events.flatMap((each) =>
      each.event === "session-events" ? each.data.events.map(({ seq }) => seq) : [],
    );
    assert.deepEqual(
      numbers,
      Array.from({ length: 4_000 }, (_, at) => at + 1),
    );
    assert.ok(live.events.filter(({ event }) => event === "server").length < 100);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ask, echo, echoRoute, type Text } from "../../test/support/peer-fixtures.ts";
import { WireTap } from "../../test/support/wire-tap.ts";
import type { TrunklineError } from "../base/errors.ts";
import { request } from "./method.ts";
import type { Check } from "../base/check.ts";
import { routes } from "./route.ts";
import { RpcError } from "./rpc-error.ts";

describe("Peer, sending requests", { timeout: 600_000 }, () => {
  it("accepts answers in any order", async () => {
    await using tap = new WireTap(routes());
    const first = tap.peer.request(echo, { text: "a" });
    const second = tap.peer.request(echo, { text: "b" });
    await tap.until(({ messages }) => messages.length === 2);
    assert.equal(tap.messages[0], `{"jsonrpc":"2.0","id":1,"method":"echo","params":{"text":"a"}}`);
    tap.write({ jsonrpc: "2.0", id: 2, error: { code: -5, message: "no", data: [1] } });
    tap.write({ jsonrpc: "2.0", id: 1, result: { text: "A" } });
    await assert.rejects(second, new RpcError(-5, "no", [1]));
    assert.deepEqual(await first, { text: "A" });
  });

  it("rejects an answer that is malformed or does not match its method", async () => {
    await using tap = new WireTap(routes());
    const checked = request<unknown, Text>("checked", undefined, echo.check as Check<Text>);
    const bad = [
      { result: {}, error: {} },
      { error: { code: "x" } },
      { error: null },
      { result: 5 },
    ];
    for (const [index, answer] of bad.entries()) {
      const asked = tap.peer.request(checked, {});
      tap.write({ jsonrpc: "2.0", id: index + 1, ...answer });
      await assert.rejects(asked, /'checked' is malformed/);
    }
  });

  it("reports answers nobody waits for, and continues", async () => {
    await using tap = new WireTap(routes(echoRoute));
    tap.write({ jsonrpc: "2.0", id: 99, result: {} });
    tap.write({ jsonrpc: "2.0", id: "1", result: {} });
    tap.write({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } });
    await tap.exchange([ask(1, "echo", { text: "a" })]);
    assert.deepEqual(
      tap.reports.map(([event]) => event),
      Array(3).fill("rpc.unknown-response"),
    );
  });

  it("cancels a request on a signal or a timeout, and notifies the other side", async () => {
    await using tap = new WireTap(routes());
    const abort = new AbortController();
    const cancelled = tap.peer.request(echo, { text: "a" }, { signal: abort.signal });
    const expired = tap.peer.request(echo, { text: "b" }, { timeout: 20 });
    abort.abort(new Error("not needed"));
    await assert.rejects(cancelled, /not needed/);
    await assert.rejects(expired, (error: TrunklineError) => error.code === "timeout");
    await tap.until(({ messages }) => messages.length === 4);
    const sent = tap.messages
      .map((text) => JSON.parse(text))
      .filter((m) => m.method === "$/cancel");
    assert.deepEqual(
      sent.map(({ params }) => params.requestId),
      [1, 2],
    );
  });

  it("rejects its requests when the connection ends, and all later ones", async () => {
    await using tap = new WireTap(routes());
    const asked = tap.peer.request(echo, { text: "a" });
    await tap.hangUp(new Error("cable pulled"));
    await assert.rejects(asked, (error: TrunklineError) => error.code === "closed");
    await assert.rejects(tap.peer.request(echo, { text: "b" }), /connection is closed/);
    await tap.peer.ended;
  });
});

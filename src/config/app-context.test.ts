import assert from "node:assert/strict";
import test, { after, describe, it } from "node:test";

import { BUFFERS } from "../base/limit/byte-budget.ts";
import type { PeerOptions } from "../rpc/peer-options.ts";
import { RpcError } from "../rpc/rpc-error.ts";
import { STANDARD } from "../rpc/codes.ts";
import { type Config, defaultConfig } from "./config.ts";
import { AppContext } from "./app-context.ts";

const DOOR = { dialect: { name: "test" } as PeerOptions<undefined>["dialect"], routes: new Map() };

/** What is written to standard error while something runs. */
function written(run: () => void): Record<string, unknown>[] {
  const lines: string[] = [];
  const { mock } = test.mock.method(
    process.stderr,
    "write",
    (text: string) => lines.push(text) > 0,
  );
  try {
    run();
  } finally {
    mock.restore();
  }
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

function appWith(change: Partial<Config>): AppContext {
  return new AppContext({ ...defaultConfig("/nonexistent"), ...change });
}

describe("AppContext", () => {
  const { limit } = BUFFERS;
  after(() => void (BUFFERS.limit = limit));

  it("lets the process buffer at least two messages, whatever is configured", () => {
    const { limits } = defaultConfig("/nonexistent");
    appWith({ limits: { ...limits, maxMessage: 1000, maxBuffered: 1500 } });
    assert.equal(BUFFERS.limit, 2000);
    appWith({ limits: { ...limits, maxMessage: 1000, maxBuffered: 5000 } });
    assert.equal(BUFFERS.limit, 5000);
  });

  it("uses the configured timeout for roots", () => {
    const { limits } = defaultConfig("/nonexistent");
    assert.equal(appWith({}).rootsTimeout, undefined);
    const messages = { "roots/*": { timeout: 5 } };
    assert.equal(appWith({ limits: { ...limits, messages } }).rootsTimeout, 5);
  });

  it("traces messages only if that is enabled", () => {
    assert.equal(appWith({}).withLimits(DOOR).trace, undefined);
    const verbose = appWith({ log: { level: "error", verbose: true, requests: false } });
    const { trace } = verbose.withLimits(DOOR);
    const lines = written(() => {
      trace?.received({ id: 1, method: "a", params: { sessionId: "s1" } });
      trace?.received([{ method: "b" }, 5]);
      trace?.received(RpcError.of(STANDARD.parse, "not JSON"));
      trace?.sent(JSON.stringify({ id: 1, result: {} }), "s2");
    });
    const found = lines.map(({ event, door, session, batch, unreadable }) => {
      return { event, door, session, batch, unreadable };
    });
    assert.deepEqual(found, [
      {
        event: "rpc.received",
        door: "test",
        session: "s1",
        batch: undefined,
        unreadable: undefined,
      },
      {
        event: "rpc.received",
        door: "test",
        session: undefined,
        batch: [{ method: "b" }, { message: 5 }],
        unreadable: undefined,
      },
      {
        event: "rpc.received",
        door: "test",
        session: undefined,
        batch: undefined,
        unreadable: "Parse error: not JSON",
      },
      { event: "rpc.sent", door: "test", session: "s2", batch: undefined, unreadable: undefined },
    ]);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";

import { StorageReadRequestSchema } from "../../protocol/bus/plugin.gen.ts";
import type { Answer, BusCall } from "../../protocol/bus/serve.ts";
import type { Connection } from "../../wire/quic/connection.ts";
import { limitStorage } from "./route-storage.ts";

function callBy(name: string): BusCall {
  const connection = { peer: { name } } as Connection;
  return { connection, signal: new AbortController().signal, bytes: 0, send: async () => {} };
}

describe("limitStorage()", () => {
  it("limits the concurrent operations of one guest, without delaying another", async () => {
    const waiting: (() => void)[] = [];
    const { storageRead } = limitStorage({
      storageRead: ({ path }) => {
        const answer: Answer = { case: "storageRead", value: { version: BigInt(path.length) } };
        return new Promise((resolve) => waiting.push(() => resolve(answer)));
      },
    });
    const read = (name: string): unknown =>
      storageRead?.(create(StorageReadRequestSchema, { path: "x" }), callBy(name));
    const busy = Array.from({ length: 10 }, () => read("busy-client"));
    await turn();
    assert.equal(waiting.length, 4);
    const quiet = read("quiet");
    await turn();
    assert.equal(waiting.length, 5);
    waiting.pop()?.();
    assert.deepEqual(await quiet, { case: "storageRead", value: { version: 1n } });
    while (waiting.length > 0) {
      waiting.shift()?.();
      await turn();
    }
    assert.equal((await Promise.all(busy)).length, 10);
  });
});

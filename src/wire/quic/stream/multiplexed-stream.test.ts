import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { onAbort } from "../../../base/abort.ts";
import { ScriptedEngine } from "../../../../test/support/scripted-engine.ts";
import { DEFAULT_CONNECTION_LIMITS } from "../connection.ts";
import { COMMAND, EVENT, FIRST, LAST } from "../control-frame.ts";
import { engineSession } from "../quic-engine.ts";
import { HeldBytes } from "./multiplexed-stream.ts";
import type { DialSettings } from "../settings.ts";

function open() {
  const engine = new ScriptedEngine();
  const session = engineSession(engine, () => {});
  const settings = { host: "127.0.0.1" } as DialSettings;
  const connection = session.dial(
    settings,
    "quic://x:1",
    new HeldBytes(DEFAULT_CONNECTION_LIMITS.maxHeld),
  );
  engine.tell(EVENT.connected, connection.id, {});
  engine.commands.length = 0;
  return { engine, connection, stream: connection.openStream() };
}

describe("MultiplexedStream", () => {
  it("is opened with its first bytes, which name its connection", () => {
    const { engine, connection, stream } = open();
    assert.deepEqual(engine.commands, []);
    void stream.write(Buffer.from("one"));
    void stream.end(Buffer.from("two"));
    assert.deepEqual(
      engine.commands.map(({ flags, lead, payload }) => [flags, lead, payload]),
      [
        [FIRST, connection.id, "one"],
        [LAST, undefined, "two"],
      ],
    );
  });

  it("costs the engine nothing if it is aborted before a byte was sent", async () => {
    const { engine, connection, stream } = open();
    stream.reset(3);
    assert.deepEqual(engine.commands, []);
    assert.equal(connection.openStreams, 0);
    await assert.rejects(stream.write(Buffer.from("x")), { trouble: "cancelled" });
  });

  it("sends the peer an abort code, once", async () => {
    const { engine, stream } = open();
    const reasons: string[] = [];
    onAbort(stream.signal, ({ message }) => void reasons.push(message));
    void stream.write(Buffer.from("x"));
    stream.reset(3);
    stream.reset(4);
    const resets = engine.taken(COMMAND.reset);
    assert.deepEqual(
      resets.map(({ lead }) => lead),
      [3],
    );
    assert.equal(reasons.length, 1);
    await assert.rejects(stream.readAll(10), { trouble: "cancelled" });
  });

  it("reports the code with which the peer aborted it", async () => {
    const { engine, stream } = open();
    void stream.end(Buffer.from("x"));
    const answer = stream.readAll(10);
    engine.tell(EVENT.reset, stream.id, 42);
    await assert.rejects(answer, { trouble: "reset", peerCode: 42 });
    assert.deepEqual(engine.taken(COMMAND.reset), []);
  });

  it("has ended when both sides have, and keeps its answer until it is read", async () => {
    const { engine, connection, stream } = open();
    engine.tell(EVENT.data, stream.id, "answer", LAST);
    assert.equal(connection.openStreams, 1);
    void stream.end(Buffer.from("x"));
    assert.equal(connection.openStreams, 0);
    engine.tell(EVENT.closed, connection.id, { trouble: "closed", detail: "" });
    assert.equal(String(await stream.readAll(10)), "answer");
  });

  it("is stale after two intervals of silence, unless it is our turn to send", () => {
    const { engine, stream } = open();
    engine.tell(EVENT.data, stream.id, "begin");
    assert.deepEqual([stream.isStale(), stream.isStale(), stream.isStale()], [false, false, true]);
    stream.patient();
    assert.deepEqual([stream.isStale(), stream.isStale(), stream.isStale()], [false, false, false]);
  });
});

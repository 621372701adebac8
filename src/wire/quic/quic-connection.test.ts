import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { testCredentials } from "../../../test/support/quic-pair.ts";
import { ScriptedEngine } from "../../../test/support/scripted-engine.ts";
import { X509Certificate } from "node:crypto";
import { DEFAULT_CONNECTION_LIMITS } from "./connection.ts";
import { COMMAND, EVENT, LAST } from "./control-frame.ts";
import { engineSession } from "./quic-engine.ts";
import { HeldBytes } from "./stream/multiplexed-stream.ts";
import type { DialSettings } from "./settings.ts";

function dial() {
  const engine = new ScriptedEngine();
  const session = engineSession(engine, () => {});
  const settings = { host: "127.0.0.1" } as DialSettings;
  const connection = session.dial(
    settings,
    "quic://x:1",
    new HeldBytes(DEFAULT_CONNECTION_LIMITS.maxHeld),
  );
  return { engine, connection };
}

describe("QuicConnection", () => {
  it("is open once the engine says so, and identifies its peer", async () => {
    const { engine, connection } = dial();
    const { server } = await testCredentials();
    const certificate = new X509Certificate(server.cert ?? "").raw.toString("base64");
    engine.tell(EVENT.connected, connection.id, { certificate });
    assert.equal(await connection.opened, connection);
    assert.equal(connection.peer?.name, "orchestrator");
  });

  it("distinguishes a failure to connect from a later failure", async () => {
    const refused = dial();
    refused.engine.tell(EVENT.closed, refused.connection.id, { trouble: "refused", detail: "no" });
    await assert.rejects(refused.connection.opened, { message: /^Cannot connect to quic:/ });
    const lost = dial();
    lost.engine.tell(EVENT.connected, lost.connection.id, {});
    const stream = lost.connection.openStream();
    lost.engine.tell(EVENT.closed, lost.connection.id, { trouble: "idle", detail: "silence" });
    await assert.rejects(stream.readAll(10), { trouble: "idle", message: /^Cannot continue with/ });
    assert.equal((await lost.connection.closed).trouble, "idle");
    await assert.rejects(lost.connection.openStream().readAll(10), { trouble: "idle" });
  });

  it("closes after its last stream when it drains, and opens none meanwhile", async () => {
    const { engine, connection } = dial();
    engine.tell(EVENT.connected, connection.id, {});
    const stream = connection.openStream();
    const drained = connection.drain();
    assert.equal(connection.isClosed, true);
    await assert.rejects(connection.openStream().readAll(10), { trouble: "closed" });
    assert.deepEqual(engine.taken(COMMAND.close), []);
    void stream.end(Buffer.from("go"));
    engine.tell(EVENT.data, stream.id, "answer", LAST);
    assert.equal(engine.taken(COMMAND.close).length, 1);
    engine.tell(EVENT.closed, connection.id, { trouble: "closed", detail: "" });
    await drained;
    assert.equal(String(await stream.readAll(10)), "answer");
  });

  it("can be cancelled before it is open, and only then", async () => {
    const { engine, connection } = dial();
    connection.cancel();
    await assert.rejects(connection.opened, { trouble: "cancelled" });
    // What the engine says of it later changes nothing.
    engine.tell(EVENT.connected, connection.id, {});
    assert.equal(connection.isClosed, true);
  });

  it("wears out by its streams, and much faster by those that break", () => {
    const { engine, connection } = dial();
    engine.tell(EVENT.connected, connection.id, {});
    const [first, second] = [connection.openStream(), connection.openStream()];
    assert.equal(connection.wear, 2);
    void first.end();
    engine.tell(EVENT.data, first.id, "", LAST);
    assert.equal(connection.wear, 2);
    second.reset();
    assert.equal(connection.wear, 252);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ScriptedEngine } from "../../../test/support/scripted-engine.ts";
import { DEFAULT_CONNECTION_LIMITS } from "./connection.ts";
import { COMMAND, EVENT, FIRST, LAST } from "./control-frame.ts";
import { type EngineSession, engineSession, type ListenerEvents } from "./quic-engine.ts";
import { HeldBytes } from "./stream/multiplexed-stream.ts";
import type { DialSettings, ListenSettings } from "./settings.ts";

const SETTINGS = { host: "127.0.0.1", port: 1 } as DialSettings & ListenSettings;
const LIMITS = DEFAULT_CONNECTION_LIMITS;

function open() {
  const engine = new ScriptedEngine();
  const unused: EngineSession[] = [];
  const session = engineSession(engine, (one) => unused.push(one));
  return { engine, session, unused };
}

/** A listener that writes down what it hears. */
function listener(heard: string[]): ListenerEvents {
  return {
    address: "quic://127.0.0.1:1",
    limits: LIMITS,
    listening: (port) => heard.push(`listening ${port}`),
    renewed: (problem) => heard.push(`renewed ${problem?.detail ?? "well"}`),
    connected: ({ id }) => heard.push(`connected ${id}`),
    stream: ({ id }, connection) => heard.push(`stream ${id} of ${connection.id}`),
    refused: ({ detail }) => heard.push(`refused ${detail}`),
    closed: ({ detail }) => heard.push(`closed ${detail}`),
  };
}

describe("EngineSession", () => {
  it("hands out even ids, none of which is in use", () => {
    const { session } = open();
    const first = session.dial(SETTINGS, "a", new HeldBytes(LIMITS.maxHeld));
    const stream = first.openStream();
    assert.deepEqual([first.id, stream.id, session.nextId()], [2, 4, 6]);
  });

  it("notifies a listener of its port, its clients, their streams and its end", () => {
    const { engine, session, unused } = open();
    const heard: string[] = [];
    const id = session.listen(SETTINGS, listener(heard));
    engine.tell(EVENT.listening, id, { port: 5 });
    engine.tell(EVENT.renewed, id, { problem: { trouble: "unusable", detail: "no PEM" } });
    engine.tell(EVENT.renewed, id, {});
    engine.tell(EVENT.refused, id, { trouble: "expired", detail: "too old" });
    engine.tell(EVENT.connected, 7, { listener: id });
    engine.tellOfStream(9, 7, "hello", FIRST | LAST);
    engine.tell(EVENT.closed, 7, { trouble: "closed", detail: "" });
    // Of a connection that is over nothing more is heard.
    engine.tellOfStream(11, 7, "late", FIRST);
    assert.equal(unused.length, 0);
    engine.tell(EVENT.closed, id, { trouble: "network", detail: "lost" });
    assert.deepEqual(heard, [
      ...["listening 5", "renewed no PEM", "renewed well", "refused too old"],
      ...["connected 7", "stream 9 of 7", "closed lost"],
    ]);
    assert.deepEqual(unused, [session]);
  });

  it("ignores events without an owner: a client of no listener, bytes of an ended stream", () => {
    const { engine, session } = open();
    engine.tell(EVENT.connected, 7, { listener: 99 });
    engine.tellOfStream(9, 7, "hello", FIRST);
    engine.tell(EVENT.data, 4, "more", LAST);
    engine.tell(EVENT.room, 4, 10);
    engine.tell(EVENT.reset, 4, 1);
    assert.equal(session.isOver, false);
    assert.deepEqual(engine.commands, []);
  });

  it("fails everything in it when the engine dies, and has ended then", async () => {
    const { engine, session, unused } = open();
    const heard: string[] = [];
    session.listen(SETTINGS, listener(heard));
    const connection = session.dial(SETTINGS, "quic://x:1", new HeldBytes(LIMITS.maxHeld));
    engine.crash("SIGSEGV");
    await assert.rejects(connection.opened, {
      trouble: "engine",
      message: /^Cannot connect to quic:\/\/x:1: the QUIC engine stopped \(SIGSEGV\)/,
    });
    assert.deepEqual(heard, ["closed the QUIC engine stopped (SIGSEGV)"]);
    assert.deepEqual([session.isOver, unused], [true, [session]]);
  });

  it("sends renew, close and end commands to the engine", async () => {
    const { engine, session } = open();
    session.renew(3, { ca: "CA", alpn: "x" });
    session.sendClose(5, 7, "enough");
    await session.end();
    const [renew, close] = engine.commands;
    assert.deepEqual([renew?.kind, renew?.id], [COMMAND.renew, 3]);
    assert.deepEqual([close?.kind, close?.lead, close?.payload], [COMMAND.close, 7, "enough"]);
    assert.equal(engine.isEnded, true);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Principal } from "../base/principal.ts";
import { AcpApp, type TestClient } from "../../test/support/acp-app.ts";
import type { Session } from "./session.ts";
import { SessionRoom } from "./session-room.ts";

const GUEST: Principal = { id: "token guest", name: "guest" };

/** Places of which two may be taken. The sessions are stand-ins: only how idle they are counts. */
function room(open: Record<string, number>) {
  const sessions = new Map<string, Session>();
  for (const [id, idleFor] of Object.entries(open)) sessions.set(id, { id, idleFor } as Session);
  const put: string[] = [];
  return {
    put,
    sessions,
    room: new SessionRoom({
      limitOf: () => 2,
      openOf: async () => [...sessions.keys()],
      open: sessions,
      putAway: async ({ id }) => {
        put.push(id);
        sessions.delete(id);
      },
    }),
  };
}

describe("SessionRoom", () => {
  it("puts the idlest session away for a new one, and none that somebody uses", async () => {
    const idle = room({ a: 5_000, b: 90_000 });
    await idle.room.take(GUEST, async () => {});
    assert.deepEqual(idle.put, ["b"]);
    const used = room({ a: 0, b: 10 });
    await assert.rejects(
      used.room.take(GUEST, async () => {}),
      {
        code: "limit",
        message: /2 sessions are open, and 2 may be\. Close one; `sessions\.concurrent` raises/,
      },
    );
  });

  it("gives the last place to one of two that ask at the same time", async () => {
    const { room: places, sessions } = room({ a: 0 });
    const take = (id: string) =>
      places.take(GUEST, async () => void sessions.set(id, { id, idleFor: 0 } as Session));
    const taken = await Promise.allSettled([take("b"), take("c")]);
    assert.deepEqual(
      taken.map(({ status }) => status),
      ["fulfilled", "rejected"],
    );
  });
});

describe("sessions of a token that may have two", { timeout: 60_000 }, () => {
  const budgets = { concurrent: 5 };
  const token: Principal = { ...GUEST, scopes: ["sessions"], limits: { concurrent: 2 } };
  const opening = { cwd: "/tmp", mcpServers: [] };

  async function connect(app: AcpApp, principal = token): Promise<TestClient> {
    const client = app.connect({}, principal);
    await client.initialize();
    return client;
  }

  it("are refused beyond that, new or loaded, until one is closed", async () => {
    await using app = await AcpApp.open({ budgets });
    const client = await connect(app);
    const { sessionId: first } = await client.ask("session/new", opening);
    await client.ask("session/new", opening);
    const refused = /2 sessions are open, and 2 may be.*access token \(--concurrent\)/;
    await assert.rejects(client.ask("session/new", opening), refused);
    // Another token has places of its own.
    await (await connect(app, { ...token, id: "token other" })).ask("session/new", opening);
    await client.ask("session/close", { sessionId: first });
    const { sessionId: third } = await client.ask("session/new", opening);
    await assert.rejects(client.ask("session/load", { sessionId: first, ...opening }), refused);
    await client.ask("session/close", { sessionId: third });
    await client.ask("session/load", { sessionId: first, ...opening });
    assert.equal((await client.prompt(String(first), "hello")).stopReason, "end_turn");
  });
});

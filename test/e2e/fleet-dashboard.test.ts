// Long: a fleet with its NATS server.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import type { Json } from "../support/acp-app.ts";
import { DashboardPage } from "../support/dashboard-page.ts";
import { FleetRig } from "../support/fleet-rig.ts";
import { noNats } from "../support/nats-server.ts";

/** The fleet once it is as expected: what a node tells about itself comes a little later. */
async function settled(page: DashboardPage, isExpected: (fleet: Json) => boolean): Promise<Json> {
  for (;;) {
    const fleet = await page.get("/api/fleet");
    if (isExpected(fleet)) return fleet;
    await delay(100);
  }
}

describe("the dashboard of a fleet's gateway", { skip: noNats, timeout: 600_000 }, () => {
  it("shows and uses the sessions of workers, also when a worker is killed", async () => {
    await using rig = await FleetRig.start();
    await rig.worker("w1");
    const gateway = await rig.gateway("g1");
    using page = new DashboardPage(gateway.ready.url, gateway.headers);
    const live = await page.events();
    // A session of the dashboard begins on a worker, and its prompt reaches that.
    const prompt = { text: "say hello" };
    const begun = await page.post("/api/sessions", { folder: rig.folder, prompt });
    assert.equal(begun.status, 200, JSON.stringify(begun.body));
    const sessionId: string = begun.body.id;
    const at = `/api/sessions/${sessionId}`;
    const isIdle = ({ id, row }: Json): boolean => id === sessionId && row.ended === "end_turn";

    const { row } = await live.find("session", isIdle);
    assert.deepEqual([row.state, row.open, row.agent], ["idle", "elsewhere", "other"]);
    const { rows } = await page.get("/api/sessions");
    assert.deepEqual(
      rows.map(({ id }: Json) => id),
      [sessionId],
    );
    const first = await page.get(`${at}/events?from=1&limit=1000`);
    assert.match(JSON.stringify(first.events), /hello/);
    assert.equal(first.events[0].seq, 1);

    // What a session shows arrives while it is watched, and a question is answered.
    const watched = await page.events(`?session=${sessionId}&after=${first.last}`);
    assert.equal((await page.post(`${at}/prompt`, { text: "permission" })).status, 200);
    await live.find("session", ({ id, row: now }) => id === sessionId && now.state === "waiting");
    const { asks } = await page.get(at);
    const answer = { id: asks[0].id, optionId: "once" };
    assert.equal((await page.post(`${at}/answer`, answer)).status, 200);
    await watched.find("session-events", ({ events }) => /"once"/.test(JSON.stringify(events)));

    await rig.worker("w2");
    await rig.kill("w1");
    assert.equal((await page.post(`${at}/prompt`, { text: "say after" })).status, 200);
    const said = ({ events }: Json): boolean => /after/.test(JSON.stringify(events));
    await watched.find("session-events", said);
    const before = await page.get(`${at}/events?limit=2`);
    assert.equal(before.events.length, 2);
    assert.equal(before.events[1].seq, before.last);

    // The move, and the fleet without the worker that was killed.
    const fleet = await settled(page, ({ nodes }) => {
      const known = nodes.map(({ name, role, used }: Json) => `${name} ${role} ${used}`);
      return known.join(", ") === "g1 gateway 0, w2 worker 1";
    });
    const { at: when, ...move } = fleet.moves[0];
    assert.ok(when <= Date.now());
    assert.deepEqual(move, { session: sessionId, from: "w1", to: "w2", why: "lost" });
    assert.equal((await page.get("/api/me")).fleet, "default");
    const scraped = await fetch(`${gateway.ready.url}/metrics`, { headers: gateway.headers });
    const lines = (await scraped.text()).split("\n");
    for (const line of [
      "trunkline_fleet_connected 1",
      'trunkline_fleet_nodes{role="gateway"} 1',
      'trunkline_fleet_nodes{role="worker"} 1',
      'trunkline_fleet_slots{state="used"} 1',
      'trunkline_fleet_slots{state="free"} 7',
      "trunkline_fleet_waiting 0",
      "trunkline_fleet_moves_total 1",
    ]) {
      assert.ok(lines.includes(line), `${line} in\n${lines.join("\n")}`);
    }
    const open = lines.filter((line) => line.startsWith("trunkline_sessions{"));
    assert.equal(
      open.reduce((sum, line) => sum + Number(line.split(" ")[1]), 0),
      1,
    );
  });
});

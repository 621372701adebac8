import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { OWNER } from "../../../base/principal.ts";
import type { Member, MemberChange } from "../../../fleet/members/members.ts";
import type { EntryChange, SessionMirror } from "../../../fleet/store/session-mirror.ts";
import type { Fleet } from "../../../fleet/open/fleet.ts";
import { fleetView } from "./fleet-view.ts";

function memberOf(name: string, state: Partial<Member> = {}): Member {
  const worker = { role: "worker", version: "1.0.0", slots: 4, used: 1, sessions: 1 } as const;
  const none = { labels: {}, warm: [], waiting: [], isDraining: false };
  return { id: `process of ${name}`, name, ...worker, ...none, ...state };
}

/** The view of a fleet whose beats and changes a test makes up. The real ones: test/e2e/fleet-dashboard. */
function viewed(alive: readonly Member[]) {
  let hear: (change: MemberChange) => void = () => {};
  let change: (given: EntryChange) => void = () => {};
  const members = {
    alive,
    onChange: (listener: typeof hear) => {
      hear = listener;
      return () => {};
    },
  };
  const connection = { isConnected: true, subjects: { pool: "p" } };
  const self = { id: "process of g1", name: "g1" };
  const view = fleetView({ connection, members, self } as unknown as Fleet);
  for (const member of alive) hear({ kind: "joined", member });
  view.follow({
    held: () => [{ record: { notes: { turn: "t" } } }, { record: { notes: {} } }],
    onChange: (listener: typeof change) => {
      change = listener;
      return () => {};
    },
  } as unknown as SessionMirror);
  const holds = (name: string) => ({ node: `node of ${name}`, holder: `process of ${name}` });
  const released = (name: string) => ({ node: `node of ${name}`, holder: undefined });
  return { view, holds, released, hear, change: (given: EntryChange) => change(given) };
}

describe("fleetView()", () => {
  it("says why a session moved: its worker was lost, was drained, or had closed it", () => {
    const workers = ["w1", "w2", "w3"].map((name) => memberOf(name));
    const { view, holds, released, change, hear } = viewed(workers);
    const id = "s1";
    change({ id, before: undefined, now: holds("w1") });
    change({ id, before: holds("w1"), now: holds("w2") });
    hear({ kind: "changed", member: memberOf("w2", { isDraining: true }) });
    change({ id, before: holds("w2"), now: released("w2") });
    hear({ kind: "lost", member: memberOf("w2") });
    change({ id, before: released("w2"), now: holds("w3") });
    change({ id, before: holds("w3"), now: released("w3") });
    // The same worker again, and with another process: no move.
    change({ id, before: released("w3"), now: holds("w3") });
    hear({ kind: "joined", member: memberOf("w3", { id: "another" }) });
    change({ id, before: holds("w3"), now: { ...holds("w3"), holder: "another" } });
    change({ id, before: released("w3"), now: holds("w1") });
    change({ id, before: { node: "0123456789", holder: undefined }, now: holds("w1") });
    const moves = view.state.moves.map(({ from, to, why }) => `${from} ${to} ${why}`);
    assert.deepEqual(moves.toReversed(), [
      "w1 w2 lost",
      "w2 w3 drained",
      "w3 w1 closed",
      "node 01234567 w1 closed",
    ]);
  });

  it("keeps the last hundred moves, and counts all", () => {
    const { view, holds, change } = viewed([memberOf("w1"), memberOf("w2")]);
    for (let at = 0; at < 150; at++) {
      change({ id: `s${at}`, before: holds("w1"), now: holds("w2") });
    }
    assert.equal(view.state.moves.length, 100);
    assert.equal(view.state.moves[0]?.session, "s149");
    assert.equal(view.counts.moves, 150);
  });

  it("adds up slots, sessions and the requests of all gateways", () => {
    const waiting = [
      { labels: { disk: "fast" }, count: 2 },
      { labels: {}, count: 1 },
    ];
    const { view } = viewed([
      memberOf("g1", { role: "gateway", slots: 0, used: 0, url: "http://g1", waiting }),
      memberOf("g2", { role: "gateway", slots: 0, used: 0, waiting: waiting.slice(0, 1) }),
      memberOf("w1", { used: 3 }),
      memberOf("w2", { isDraining: true }),
    ]);
    assert.deepEqual(view.counts, {
      isConnected: true,
      nodes: { gateway: 2, worker: 2 },
      slots: { used: 4, free: 1 },
      waiting: 5,
      moves: 0,
      sessions: { running: 1, idle: 1 },
    });
    assert.deepEqual(view.state.waiting, [
      { labels: { disk: "fast" }, count: 4 },
      { labels: {}, count: 1 },
    ]);
    assert.equal(view.state.nodes[0]?.url, "http://g1");
  });

  it("is only for those who may see everything", () => {
    const { view } = viewed([]);
    assert.equal(view.poolFor(OWNER), "p");
    assert.equal(view.poolFor({ ...OWNER, id: "token a", scopes: ["dashboard"] }), undefined);
  });
});

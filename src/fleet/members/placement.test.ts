import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Member } from "./beat.ts";
import { fullWords, isCompatible, type PlacementRequest, placeSession } from "./placement.ts";

function member(name: string, more: Partial<Member> = {}): Member {
  return {
    id: `1-${name}`,
    name,
    role: "worker",
    version: "1.2.0",
    slots: 4,
    used: 0,
    labels: {},
    warm: [],
    isDraining: false,
    sessions: 0,
    waiting: [],
    ...more,
  };
}

const place = (
  members: readonly Member[],
  request: PlacementRequest = {},
  random?: () => number,
): string[] | string => {
  const placement = placeSession({ pool: "x", version: "1.2.3", members }, request, random);
  if ("refusal" in placement) return placement.refusal;
  return placement.workers.map(({ name }) => name);
};

describe("placeSession", () => {
  it("prefers a warm cache, then the least used, and those that are full come last", () => {
    const repository = "https://example.org/a.git";
    const members = [
      member("g", { role: "gateway" }),
      member("full", { used: 4, warm: [repository] }),
      member("half", { used: 2 }),
      member("warm", { used: 3, warm: [repository] }),
      member("empty"),
    ];
    assert.deepEqual(place(members, { repository }), ["warm", "empty", "half", "full"]);
    assert.deepEqual(place(members), ["empty", "half", "warm", "full"]);
    assert.deepEqual(place(members, { exclude: ["1-empty"] }), ["half", "warm", "full"]);
  });

  it("prefers those that were heard lately to those that may be paused", () => {
    const members = [member("silent"), member("busy", { used: 3 }), member("full", { used: 4 })];
    const view = {
      pool: "x",
      version: "1.2.3",
      members,
      isSilent: (id: string) => id === "1-silent",
    };
    const { workers } = placeSession(view, {});
    assert.deepEqual(
      workers.map(({ name }) => name),
      ["busy", "full", "silent"],
    );
  });

  it("spreads sessions over equal workers", () => {
    const members = ["a", "b", "c"].map((name) => member(name));
    const firsts = new Set(Array.from({ length: 100 }, () => place(members)[0]));
    assert.deepEqual(firsts, new Set(["a", "b", "c"]));
    let chance = 1;
    assert.deepEqual(
      place(members, {}, () => (chance /= 2)),
      ["c", "b", "a"],
    );
  });

  it("takes workers that have all labels, are not draining, and are of about the same version", () => {
    const labels = { gpu: "1", zone: "eu" };
    const members = [
      member("none"),
      member("one", { labels: { gpu: "1" } }),
      member("draining", { labels, isDraining: true }),
      member("old", { labels, version: "1.0.9" }),
      member("next", { labels: { ...labels, more: "x" }, version: "1.3.0" }),
    ];
    assert.deepEqual(place(members, { labels }), ["next"]);
  });

  it("says why none fits", () => {
    const draining = member("d", { isDraining: true });
    const labels = { gpu: "1" };
    assert.equal(place([member("g", { role: "gateway" })]), "pool 'x' has no worker");
    assert.equal(place([member("a")], { exclude: ["1-a"] }), "pool 'x' has no other worker");
    assert.equal(place([draining]), "the only worker of pool 'x' is draining");
    assert.equal(place([draining, draining]), "all 2 workers of pool 'x' are draining");
    assert.equal(place([member("a")], { labels }), "no worker of pool 'x' has label gpu=1");
    assert.equal(
      place([member("a")], { labels: { ...labels, zone: "eu" } }),
      "no worker of pool 'x' has labels gpu=1 and zone=eu",
    );
    assert.equal(
      place([member("a", { version: "1.0.0" }), member("b", { version: "2.2.0" })]),
      "the workers of pool 'x' run version 1.0.0, 2.2.0, and this gateway 1.2.3; they may differ by " +
        "one minor version. Upgrade the older ones",
    );
  });

  it("counts slots in words", () => {
    const workers = [member("a"), member("b"), member("c")];
    assert.equal(fullWords(workers), "all 12 slots of 3 workers are taken");
    assert.equal(fullWords([member("a", { slots: 1 })]), "the only slot of 1 worker is taken");
  });
});

describe("isCompatible", () => {
  it("tolerates one minor version", () => {
    for (const version of ["1.1.9", "1.2.0", "1.3.0-rc.1"]) {
      assert.ok(isCompatible(version, "1.2.3"), version);
    }
    for (const version of ["1.0.0", "1.4.0", "2.2.3", "0.2.3", "nonsense"]) {
      assert.ok(!isCompatible(version, "1.2.3"), version);
    }
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type Beat, encodeBeat, readBeat } from "./beat.ts";

const BEAT: Beat = {
  id: "1-a",
  number: 7,
  isLeaving: true,
  state: {
    role: "worker",
    version: "1.2.3",
    url: "https://example.org",
    slots: 4,
    used: 2,
    labels: { gpu: "1" },
    warm: ["a", "b"],
    isDraining: true,
    isDrained: true,
    sessions: 3,
    tools: 2,
    waiting: [{ labels: { gpu: "1" }, count: 5 }],
  },
};

describe("Beats", () => {
  it("are read as they were written", () => {
    assert.deepEqual(readBeat(encodeBeat(BEAT)), BEAT);
  });

  it("name a bounded number of warm repositories", () => {
    const warm = Array.from({ length: 5000 }, (_, index) => `repository ${index}`);
    const text = encodeBeat({ ...BEAT, state: { ...BEAT.state, warm } });
    assert.equal(readBeat(text)?.state.warm.length, 100);
  });

  it("may come from another version, which tells more, less or something else", () => {
    const text = JSON.stringify({
      id: "1-a",
      new: true,
      state: { role: "worker", labels: { gpu: 1 }, warm: [1, "a"], waiting: [null], slots: "x" },
    });
    assert.deepEqual(readBeat(text)?.state, {
      role: "worker",
      version: "0.0.0",
      url: undefined,
      slots: 0,
      used: 0,
      labels: {},
      warm: ["a"],
      isDraining: false,
      isDrained: false,
      sessions: 0,
      tools: 0,
      waiting: [{ labels: {}, count: 0 }],
    });
  });

  it("of a node that means harm are read as far as they make sense", () => {
    const labels = { gpu: "yes", bad: { toString: 1 }, long: "x".repeat(10_000) };
    const waiting = [{ labels: { bad: { valueOf: null } }, count: -5 }];
    const state = { role: "worker", labels, waiting, used: -1, url: "u".repeat(10_000) };
    const text = JSON.stringify({ id: "1-a", number: 1, state }).replace("-1", "1e999");
    const read = readBeat(text)?.state;
    assert.deepEqual(read?.labels, { gpu: "yes" });
    assert.deepEqual(read?.waiting, [{ labels: {}, count: 0 }]);
    assert.deepEqual([read?.used, read?.url], [0, undefined]);
    for (const id of ["a.b", "*", ">", "a b", "", "x".repeat(100)]) {
      assert.equal(readBeat(JSON.stringify({ id, state })), undefined, id);
    }
  });

  it("are nothing else", () => {
    for (const text of ["", "nonsense", "null", "7", "{}", '{"id":"1-a","state":{"role":"spy"}}']) {
      assert.equal(readBeat(text), undefined, text);
    }
  });
});

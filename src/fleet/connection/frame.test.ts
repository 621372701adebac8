import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  DATA,
  dataFrame,
  END,
  endFrame,
  following,
  readFrame,
  RESET,
  resetFrame,
  STATE,
  stateFrame,
} from "./frame.ts";

describe("Frames of a connection between nodes", () => {
  it("are read as they were written", () => {
    const chunks = [Buffer.from("ab"), Buffer.from("c")];
    const data = Buffer.from("abc");
    assert.deepEqual(readFrame(dataFrame(7, chunks, 3)), { kind: DATA, number: 7, data });
    assert.deepEqual(readFrame(endFrame(8)), { kind: END, number: 8 });
    const consumed = 2 ** 47;
    assert.deepEqual(readFrame(stateFrame(9, consumed)), { kind: STATE, number: 9, consumed });
    assert.deepEqual(readFrame(resetFrame(1, "é")), { kind: RESET, number: 1, why: "é" });
  });

  it("are recognised by their form", () => {
    for (const bytes of [[], [0, 0, 0, 0], [2, 0, 0, 0, 0, 1], [9, 0, 0, 0, 0]]) {
      assert.equal(readFrame(Uint8Array.from(bytes)), undefined);
    }
  });

  it("have numbers that begin again after the last one", () => {
    assert.equal(following(2 ** 32 - 1), 0);
    assert.deepEqual(readFrame(endFrame(2 ** 32 - 1)), { kind: END, number: 2 ** 32 - 1 });
  });
});

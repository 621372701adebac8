import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { readPairs } from "./edit-entry.ts";

describe("readPairs()", () => {
  it("reads NAME=VALUE, and NAME: VALUE of headers", async () => {
    assert.deepEqual(await readPairs("--env", ["A=b=c", "B=", "C=x: y"]), {
      A: "b=c",
      B: "",
      C: "x: y",
    });
    assert.deepEqual(await readPairs("--header", ["X-A: b=c", "X-B=d: e"]), {
      "X-A": "b=c",
      "X-B": "d: e",
    });
    assert.deepEqual(await readPairs("--env"), {});
  });

  it("asks for the values of names alone, in their order", async () => {
    const asked: string[][] = [];
    const secrets = async (names: readonly string[]) => {
      asked.push([...names]);
      return names.map((name) => `secret of ${name}`);
    };
    assert.deepEqual(await readPairs("--header", ["A", "B=1", "C"], secrets), {
      A: "secret of A",
      B: "1",
      C: "secret of C",
    });
    assert.deepEqual(asked, [["A", "C"]]);
  });

  it("refuses what is no name", async () => {
    for (const given of ["=x", "a b=c", "a\nb=c"]) {
      await assert.rejects(readPairs("--env", [given]), { code: "usage" }, given);
    }
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { nearest, slips } from "./prelude.ts";

describe("slips()", () => {
  for (const [a, b, count] of [
    ["port", "port", 0],
    ["prot", "port", 1],
    ["por", "port", 1],
    ["portt", "port", 1],
    ["pert", "port", 1],
    ["", "port", 4],
    ["abcd", "dcba", 3],
  ] as const) {
    it(`counts ${count} from '${a}' to '${b}'`, () => assert.equal(slips(a, b), count));
  }
});

describe("nearest()", () => {
  it("finds the word that was meant, in any case", () => {
    assert.equal(nearest("mcpservers", ["server", "mcpServers"]), "mcpServers");
    assert.equal(nearest("comand", ["args", "command"]), "command");
  });

  it("finds nothing that is far away, nor for a word of any length", () => {
    assert.equal(nearest("identities", ["server", "mcpServers", "log"]), undefined);
    assert.equal(nearest("log", ["lip"]), undefined);
    assert.equal(nearest("x".repeat(1_000_000), ["x"]), undefined);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { bearerChallenge, scopesOf, unionOf } from "./challenge.ts";

describe("bearerChallenge()", () => {
  it("reads the scopes, the error and the place of the metadata", () => {
    const header =
      'Bearer realm="a, Basic x=\\"1\\"", error=insufficient_scope, scope="a b", ' +
      'resource_metadata="https://mcp.example/.well-known/x?a=1,2"';
    assert.deepEqual(bearerChallenge(header), {
      scopes: ["a", "b"],
      error: "insufficient_scope",
      resourceMetadata: "https://mcp.example/.well-known/x?a=1,2",
    });
  });

  it("finds it beside other schemes, and reads only its own parameters", () => {
    const header = 'Basic realm="x", bearer scope="a", Digest scope="b"';
    assert.deepEqual(bearerChallenge(header), { scopes: ["a"] });
    assert.deepEqual(bearerChallenge("Bearer"), { scopes: [] });
    assert.equal(bearerChallenge('Basic realm="Bearer scope=x"'), undefined);
    assert.equal(bearerChallenge(undefined), undefined);
  });

  it("takes no long time for a hostile header", () => {
    const started = process.cpuUsage();
    bearerChallenge(`Bearer ${'a="'.repeat(20_000)}`);
    bearerChallenge(`Bearer ${"a ".repeat(20_000)}`);
    bearerChallenge(`Bearer ${"\\".repeat(40_000)}`);
    assert.ok(process.cpuUsage(started).user < 1_000_000);
  });
});

describe("scopesOf() and unionOf()", () => {
  it("split at spaces and leave out what is there twice", () => {
    assert.deepEqual(unionOf(scopesOf(" a  b"), ["b", "c"], scopesOf(undefined)), ["a", "b", "c"]);
  });
});

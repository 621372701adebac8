import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../../test/support/requirement.ts";
import { digestOf, openState, sealState } from "./input-required.ts";

const STATE = { rounds: "r", pause: 1, digest: "d", principal: "p", expires: 1_000 };
const open = (text: string, digest = "d", principal = "p", now = 1_000) =>
  openState(text, digest, principal, now);

describe("a request's state", () => {
  it("is restored as it was sealed, within its time", () => {
    assert.deepEqual(open(sealState(STATE)), STATE);
  });

  it("is refused if a single character has changed", () => {
    covers("mcp.mrtr.state-integrity");
    const sealed = sealState(STATE);
    for (let at = 0; at < sealed.length; at += 7) {
      const changed = sealed.slice(0, at) + (sealed[at] === "A" ? "B" : "A") + sealed.slice(at + 1);
      assert.throws(() => open(changed), { code: -32602 }, `at ${at}`);
    }
    for (const text of ["", ".", "a.b", sealed.split(".")[0] ?? "", `${sealed}=`]) {
      assert.throws(() => open(text), { code: -32602 }, text);
    }
  });

  it("is refused from another principal, for another request, and after its time", () => {
    covers("mcp.mrtr.state-principal", "mcp.mrtr.state-expiry", "mcp.mrtr.state-request");
    const sealed = sealState(STATE);
    assert.throws(() => open(sealed, "d", "other"), /another client/);
    assert.throws(() => open(sealed, "other"), /another request/);
    assert.throws(() => open(sealed, "d", "p", 1_001), /has expired/);
  });
});

describe("digestOf()", () => {
  it("is the same for all rounds of one request", () => {
    const params = { name: "a", arguments: { b: 1 } };
    const later = { ...params, _meta: { x: 1 }, inputResponses: {}, requestState: "s" };
    assert.equal(digestOf("tools/call", params), digestOf("tools/call", later));
  });

  it("differs by method and by arguments", () => {
    const digest = digestOf("tools/call", { name: "a", arguments: { b: 1 } });
    assert.notEqual(digest, digestOf("tools/call", { name: "a", arguments: { b: 2 } }));
    assert.notEqual(digest, digestOf("prompts/get", { name: "a", arguments: { b: 1 } }));
  });
});

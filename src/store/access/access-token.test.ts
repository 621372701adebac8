import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { hashToken, isExpired, nameProblem, newToken, readAccessToken } from "./access-token.ts";

const KEPT = {
  id: "0123abcd",
  name: "ci",
  sha256: hashToken("tlk_x"),
  created: "2026-01-01T00:00:00.000Z",
  scopes: ["tools"],
};

describe("nameProblem()", () => {
  it("allows names that can be typed, and none that look like an id or a token", () => {
    for (const name of ["ci", "a".repeat(64), "my-laptop.v2_1", "7"]) {
      assert.equal(nameProblem(name), undefined, name);
    }
    assert.equal(nameProblem("0123abcd"), "it looks like an id");
    assert.equal(nameProblem(newToken()), "it looks like a token");
    for (const name of ["", "-rf", "a b", "a\n", "é", "a".repeat(65)]) {
      assert.match(nameProblem(name) ?? "", /^a name has/, JSON.stringify(name));
    }
  });
});

describe("isExpired()", () => {
  const token = (expires?: string) => readAccessToken({ ...KEPT, expires }) ?? assert.fail();

  it("is true from the token's time on, and at once if that cannot be read", () => {
    const now = Date.parse("2026-06-01T00:00:00.000Z");
    assert.equal(isExpired(token(), now), false);
    assert.equal(isExpired(token("2026-06-01T00:00:00.001Z"), now), false);
    assert.equal(isExpired(token("2026-06-01T00:00:00.000Z"), now), true);
    assert.equal(isExpired(token("next year"), now), true);
  });
});

describe("readAccessToken()", () => {
  it("reads what was written, with the limits of its bearer", () => {
    assert.deepEqual(readAccessToken(KEPT), KEPT);
    const limited = { ...KEPT, limits: { agents: ["a"], folders: ["/work"] } };
    assert.deepEqual(readAccessToken(limited), limited);
    const budgeted = { ...KEPT, limits: { budget: { tokens: 5, cost: 0.5 }, concurrent: 2 } };
    assert.deepEqual(readAccessToken(budgeted), budgeted);
  });

  it("gives a token from before scopes the rights such tokens had, which were not all", () => {
    const { scopes: _, ...old } = KEPT;
    const scopes = readAccessToken(old)?.scopes ?? [];
    assert.ok(scopes.includes("sessions"));
    assert.ok(!(scopes as readonly string[]).includes("admin"));
  });

  for (const [what, change] of Object.entries({
    "a scope that nobody knows": { scopes: ["tools", "everything"] },
    "scopes that are no list": { scopes: "tools" },
    "a limit that nobody knows": { limits: { hosts: ["a"] } },
    "a limit that is no list": { limits: { agents: "a" } },
    "a budget of nothing known": { limits: { budget: { money: 1 } } },
    "a budget that is no number": { limits: { budget: { tokens: "5" } } },
    "a budget that is a list": { limits: { budget: [5] } },
    "a number of sessions that is none": { limits: { concurrent: 0 } },
    "limits that are no object": { limits: null },
    "a hash that is none": { sha256: "0123" },
    "no time of its making": { created: undefined },
    "an end that is a number": { expires: 1 },
  })) {
    it(`gives no access by a token with ${what}`, () => {
      assert.equal(readAccessToken({ ...KEPT, ...change }), undefined);
    });
  }

  it("refuses anything that is not an object", () => {
    for (const value of [null, "tlk_x", 7, undefined]) {
      assert.equal(readAccessToken(value), undefined);
    }
  });
});

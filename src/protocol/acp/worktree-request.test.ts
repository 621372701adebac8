import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { readWorktreeRequest } from "./serve-sessions.ts";

describe("readWorktreeRequest()", () => {
  it("reads true, or what the work tree should be like", () => {
    assert.deepEqual(readWorktreeRequest(true), {});
    const wanted = { branch: "task", base: "main", carry: [".env"] };
    assert.deepEqual(readWorktreeRequest(wanted), wanted);
  });

  it("takes an absent or false value for none", () => {
    for (const value of [undefined, null, false])
      assert.equal(readWorktreeRequest(value), undefined);
  });

  it("refuses anything else, and names it", () => {
    for (const [value, says] of [
      ["yes", /must be true or an object/],
      [[], /must be true or an object/],
      [{ branch: "" }, /worktree'.branch must be a text/],
      [{ base: 1 }, /worktree'.base must be a text/],
      [{ carry: ".env" }, /carry must be a list of patterns/],
      [{ carry: [1] }, /carry must be a list of patterns/],
      [{ brnach: "x" }, /has no member 'brnach'/],
    ] as const) {
      assert.throws(
        () => readWorktreeRequest(value),
        (error: Error & { data?: unknown }) => {
          assert.match(`${error.message} ${JSON.stringify(error.data)}`, says);
          return true;
        },
      );
    }
  });
});

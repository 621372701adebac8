import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { systemProgram } from "./system-program.ts";

describe("systemProgram()", () => {
  it("finds system programs, regardless of PATH", () => {
    assert.match(systemProgram("sh") ?? "", /^\/(?:usr\/)?bin\/sh$|^\/run\//);
    assert.equal(systemProgram("no-such-program"), undefined);
  });
});

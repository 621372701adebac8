import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { systemProgram } from "./system-program.ts";

describe("systemProgram()", () => {
  it("finds programs of the system, whatever PATH says", () => {
    assert.match(systemProgram("sh") ?? "", /^\/(?:usr\/)?bin\/sh$|^\/run\//);
    assert.equal(systemProgram("no-such-program"), undefined);
  });
});

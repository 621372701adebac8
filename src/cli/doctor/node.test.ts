import assert from "node:assert/strict";
import { describe, it } from "node:test";

import packageJson from "../../../package.json" with { type: "json" };
import { checkNode } from "./node.ts";

describe("checkNode()", () => {
  it("takes what package.json asks for, and nothing older", () => {
    const [major = 0, minor = 0] = packageJson.engines.node
      .replace(">=", "")
      .split(".")
      .map(Number);
    assert.equal(checkNode(`${major}.${minor}.0`).state, "ok");
    assert.equal(checkNode(`${major + 1}.0.0`).state, "ok");
    assert.equal(checkNode(`${major}.${minor - 1}.9`).state, "fail");
    assert.equal(checkNode(`${major - 1}.99.0`).state, "fail");
  });
});

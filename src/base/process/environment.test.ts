import assert from "node:assert/strict";
import { userInfo } from "node:os";
import { describe, it } from "node:test";

import { homeOf } from "./home-of.ts";

describe("homeOf()", () => {
  it("is what the environment says", () => {
    assert.equal(homeOf({ HOME: "/home/ada" }), "/home/ada");
  });

  it("is what the system knows where the environment says nothing, or nothing absolute", () => {
    for (const HOME of [undefined, "", ".", "home/ada"]) {
      assert.equal(homeOf({ HOME }), userInfo().homedir);
    }
  });
});

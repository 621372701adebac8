import assert from "node:assert/strict";
import { userInfo } from "node:os";
import { describe, it, test } from "node:test";

import { absolutePath } from "../process/environment.ts";

import { homeOf } from "./environment.ts";

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

test("absolutePath() leaves out folders that depend on where one is", () => {
  assert.equal(absolutePath("/usr/bin:.:bin::/opt/x:~/bin"), "/usr/bin:/opt/x");
  assert.equal(absolutePath("."), "/usr/local/bin:/usr/bin:/bin");
  assert.equal(absolutePath(undefined), "/usr/local/bin:/usr/bin:/bin");
});

import assert from "node:assert/strict";
import { userInfo } from "node:os";
import { describe, it, test } from "node:test";

import { absolutePath } from "../process/environment.ts";

import { homeOf } from "./environment.ts";

describe("homeOf()", () => {
  it("is taken from the environment", () => {
    assert.equal(homeOf({ HOME: "/home/ada" }), "/home/ada");
  });

  it("is taken from the system if the environment has none, or a relative one", () => {
    for (const HOME of [undefined, "", ".", "home/ada"]) {
      assert.equal(homeOf({ HOME }), userInfo().homedir);
    }
  });
});

test("absolutePath() leaves out folders that are relative to the current one", () => {
  assert.equal(absolutePath("/usr/bin:.:bin::/opt/x:~/bin"), "/usr/bin:/opt/x");
  assert.equal(absolutePath("."), "/usr/local/bin:/usr/bin:/bin");
  assert.equal(absolutePath(undefined), "/usr/local/bin:/usr/bin:/bin");
});

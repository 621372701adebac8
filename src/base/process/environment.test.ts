import assert from "node:assert/strict";
import { userInfo } from "node:os";
import { describe, it, test } from "node:test";

import { absolutePath } from "../process/environment.ts";

import { homeOf } from "./environment.ts";

describe("homeOf()", () => {
  it("is taken from the environment", () => {
    assert.equal(homeOf({ HOME: "/home/ada" }), "/home/ada");
  });

  it("is taken from the system if the environment has none", () => {
    for (const HOME of [undefined, ""]) assert.equal(homeOf({ HOME }), userInfo().homedir);
  });

  it("is refused in words if it is relative", () => {
    for (const HOME of [".", "home/ada"]) {
      assert.throws(() => homeOf({ HOME }), /HOME is '.+', which is not an absolute path\. Set it/);
    }
  });
});

test("absolutePath() leaves out folders that are relative to the current one", () => {
  assert.equal(absolutePath("/usr/bin:.:bin::/opt/x:~/bin"), "/usr/bin:/opt/x");
  assert.equal(absolutePath("."), "/usr/local/bin:/usr/bin:/bin");
  assert.equal(absolutePath(undefined), "/usr/local/bin:/usr/bin:/bin");
});

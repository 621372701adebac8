import assert from "node:assert/strict";
import { test } from "node:test";

import { absolutePath } from "./absolute-path.ts";

test("absolutePath() leaves out folders that depend on where one is", () => {
  assert.equal(absolutePath("/usr/bin:.:bin::/opt/x:~/bin"), "/usr/bin:/opt/x");
  assert.equal(absolutePath("."), "/usr/local/bin:/usr/bin:/bin");
  assert.equal(absolutePath(undefined), "/usr/local/bin:/usr/bin:/bin");
});

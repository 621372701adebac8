import assert from "node:assert/strict";
import { symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { call } from "../../../test/agent/call-tools.ts";

describe("list_files", () => {
  it("lists a folder, or files by a pattern, without following links out", async () => {
    const calls = [
      { name: "list_files", arguments: { depth: 1 } },
      { name: "list_files", arguments: { pattern: "*.ts" } },
      { name: "list_files", arguments: { path: "../" } },
      { name: "list_files", arguments: { path: "nope" } },
    ];
    const { answers } = await call(calls, {
      files: { "src/deep/a.ts": "", "b.ts": "", "node_modules/x/c.ts": "" },
      prepare: (rig) => symlinkSync("/etc", join(rig.cwd, "out")),
    });
    assert.equal(answers[0], "b.ts\nnode_modules/\nout\nsrc/");
    assert.equal(answers[1], "b.ts\nsrc/deep/a.ts");
    assert.match(answers[2] ?? "", /outside of the workspace/);
    assert.match(answers[3] ?? "", /Cannot list 'nope'/);
  });
});

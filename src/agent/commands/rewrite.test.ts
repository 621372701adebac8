import assert from "node:assert/strict";
import { cpSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Packages } from "../../../test/support/packages.ts";
import { AgentRig } from "../../../test/agent/agent-rig.ts";

describe("/rewrite", () => {
  it("says how to install ast-grep if it is missing", async () => {
    await using rig = new AgentRig();
    const { turn } = await rig.turn("/rewrite foo($A) => bar($A)");
    assert.match(turn.text, /npm install --prefix '.*packages' @ast-grep\/napi@/);
    assert.match((await rig.turn("/rewrite nonsense")).turn.text, /Say what to rewrite/);
  });

  it("rewrites code by its structure", async () => {
    const packages = new Packages("test/agent");
    await packages.install();
    const files = {
      "a.ts": 'log(1);\n// log(2)\nlog("x", f(3), 4);\nlog();\n',
      "node_modules/x/a.ts": "log(1);\n",
      "b.txt": "log(1);\n",
    };
    await using rig = new AgentRig({ files });
    const folder = join(rig.data, "packages/node_modules");
    mkdirSync(folder, { recursive: true });
    cpSync(packages.path("@ast-grep"), join(folder, "@ast-grep"), { recursive: true });
    const { turn } = await rig.turn("/rewrite log($A, $$$REST) => info([$$$REST], $A)");
    assert.equal(rig.read("a.ts"), 'log(1);\n// log(2)\ninfo([f(3), 4], "x");\nlog();\n');
    assert.match(turn.text, /Rewrote 1 place\./);
    await rig.turn("/rewrite log($A) => info($A) --in *.ts");
    assert.equal(rig.read("a.ts").split("\n")[0], "info(1);");
    assert.equal(rig.read("node_modules/x/a.ts"), "log(1);\n");
    assert.match((await rig.turn("/rewrite nope($A) => x")).turn.text, /Nothing matches/);
  });
});

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";

const RULES = `{ "policy": { "tools": {
  "approve": "always",
  "rules": [
    { "tool": "*", "project": "~/code", "arguments": { "path": "/etc/*" }, "decision": "deny" },
    { "tool": "*", "project": "sub", "decision": "deny" }
  ]
} } }`;

describe("policy.tools", () => {
  it("resolves folders from the file, or from the home folder", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, RULES);
    const { config } = await home.load();
    const { rules, approve } = config.policy.tools;
    assert.deepEqual(
      rules.map(({ project }) => project),
      [join(home.path, "code"), join(home.path, ".config/trunkline/sub")],
    );
    assert.deepEqual(rules[0]?.arguments, { path: "/etc/*" });
    assert.equal(approve, "always");
  });

  it("cannot be set by an untrusted project", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, RULES);
    const { config, warnings } = await home.load();
    assert.deepEqual(config.policy.tools, { default: "allow", rules: [], approve: "first-use" });
    assert.equal(warnings.length, 1);
  });

  for (const wrong of [
    `{ "tool": "*", "decision": "deny", "argument": {} }`,
    `{ "tool": "*", "decision": "deny", "arguments": { "a": 1 } }`,
    `{ "tool": "*" }`,
  ]) {
    it(`refuses to start with the rule ${wrong}, which would not do what it seems to`, async () => {
      await using home = await SampleHome.create();
      await home.write(home.userFile, `{ "policy": { "tools": { "rules": [${wrong}] } } }`);
      await assert.rejects(home.load(), { code: "config" });
    });
  }
});

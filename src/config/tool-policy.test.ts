import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleHome } from "../../test/samples/sample-home.ts";
import { OWNER } from "../base/principal.ts";
import { Policy } from "../tool/policy.ts";
import { toolPolicy } from "./tool-policy.ts";

const CALLER = { name: "test", door: "mcp", client: "test", principal: OWNER };

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

describe("toolPolicy()", () => {
  it("allows what a server's settings approve, after the rules", async () => {
    await using home = await SampleHome.create();
    const mcpServers = {
      notes: { command: "x", autoApprove: ["read", "list_*"] },
      "*": { command: "y", autoApprove: ["*"] },
    };
    const rules = [{ tool: "list_keys", decision: "deny" }];
    const tools = { default: "ask", rules };
    await home.write(home.userFile, JSON.stringify({ mcpServers, policy: { tools } }));
    const policy = new Policy(toolPolicy((await home.load()).config));
    const decide = (server: string, tool: string): string => {
      return policy.decide({ server, tool, caller: CALLER, args: {} });
    };
    assert.equal(decide("notes", "read"), "allow");
    assert.equal(decide("notes", "notes_read"), "allow", "renamed, since another server has it");
    assert.equal(decide("notes", "list_all"), "allow");
    assert.equal(decide("notes", "list_keys"), "deny", "a rule comes first");
    assert.equal(decide("notes", "write"), "ask");
    assert.equal(decide("other", "read"), "ask");
  });
});

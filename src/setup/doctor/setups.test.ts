import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { checkSetups } from "./settings-checks.ts";

describe("checkSetups()", () => {
  it("says nothing where no program is set up", async () => {
    await using home = await SampleHome.create();
    await home.write(join(home.path, ".cursor/mcp.json"), `{ "mcpServers": { "other": {} } }`);
    assert.deepEqual(checkSetups({ HOME: home.path }), []);
  });

  it("names programs whose entry leads nowhere, and those that work", async () => {
    await using home = await SampleHome.create();
    const gone = join(home.path, "gone/trunkline.js");
    const entry = (...args: string[]) => ({ command: process.execPath, args });
    const set = (file: string, value: object) =>
      home.write(join(home.path, file), JSON.stringify(value));
    await set(".cursor/mcp.json", { mcpServers: { trunkline: entry(gone, "mcp") } });
    await set(".claude.json", {
      mcpServers: { trunkline: entry(import.meta.filename, "mcp", "--data", gone) },
    });
    await set(".config/opencode/opencode.json", {
      mcp: { trunkline: { type: "local", command: [gone, "mcp"] } },
    });
    await set(".jetbrains/acp.json", { agent_servers: { Trunkline: entry(gone, "acp") } });
    await home.write(join(home.path, ".codex/config.toml"), "= broken");
    const found = checkSetups({ HOME: home.path }).map(
      ({ state, says, command }) => `${state} ${says.replaceAll(home.path, "~")} ${command ?? ""}`,
    );
    assert.equal(found[0], "ok Claude Code ");
    const dead = "starts '~/gone/trunkline.js', which is not there";
    assert.ok(found.includes(`fail Cursor ${dead} trunkline setup cursor`), found.join("\n"));
    assert.ok(found.some((each) => each.startsWith("fail JetBrains")));
    assert.ok(found.some((each) => each.startsWith("fail OpenCode") || each.includes("opencode")));
    assert.ok(found.some((each) => each.startsWith("warn cannot read the settings of Codex")));
  });
});

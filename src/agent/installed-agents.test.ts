import assert from "node:assert/strict";
import { chmodSync, mkdirSync, mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

import { addCommand, installedAgents } from "./installed-agents.ts";

describe("installedAgents()", () => {
  it("finds programs in PATH and where npm puts them, and how they speak ACP", () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-installed-"));
    const home = folder.path;
    const program = (name: string, mode = 0o755): string => {
      const path = join(home, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, "");
      chmodSync(path, mode);
      return path;
    };
    const goose = program("bin/goose");
    const claude = program("bin/claude");
    const codex = program(".npm-global/bin/codex-acp");
    const opencode = program("npm/bin/opencode");
    program("bin/gemini", 0o644);
    writeFileSync(join(home, ".npmrc"), "registry=x\nprefix=~/npm\n");
    const env = { HOME: home, PATH: `${home}/bin:relative` };
    const npx = ["-y", "@agentclientprotocol/claude-agent-acp"];
    assert.deepEqual(installedAgents(env), [
      { name: "claude", path: claude, command: "npx", args: npx },
      { name: "codex", path: codex, command: codex, args: [] },
      { name: "goose", path: goose, command: goose, args: ["acp"] },
      { name: "opencode", path: opencode, command: opencode, args: ["acp"] },
    ]);
    const adapter = program("bin/claude-agent-acp");
    const [first] = installedAgents(env, ["codex", "goose", "opencode"]);
    assert.deepEqual(first, { name: "claude", path: adapter, command: adapter, args: [] });
    const left = installedAgents(env, ["claude", "codex", "goose", "opencode"]);
    assert.deepEqual(left, []);
  });

  it("says how to add one, in words that a shell reads as they are", () => {
    const agent = { name: "goose", path: "", command: "/my programs/goose", args: ["acp"] };
    assert.equal(
      addCommand(agent),
      "trunkline agent add goose --default -- '/my programs/goose' acp",
    );
  });
});

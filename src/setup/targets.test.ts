import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type ProgramFolders, placesOf, TARGETS } from "./targets.ts";

function filesOn(platform: NodeJS.Platform, env: NodeJS.ProcessEnv = {}): Record<string, string> {
  const places: ProgramFolders = {
    ...placesOf({ HOME: "/home/ada", ...env }, platform),
    exists: () => false,
  };
  return Object.fromEntries(TARGETS.map(({ name, file }) => [name, file(places)]));
}

describe("the file of a program", () => {
  it("is where the program looks for it on Linux", () => {
    assert.deepEqual(filesOn("linux"), {
      "claude-code": "/home/ada/.claude.json",
      "claude-desktop": "/home/ada/.config/Claude/claude_desktop_config.json",
      cursor: "/home/ada/.cursor/mcp.json",
      vscode: "/home/ada/.config/Code/User/mcp.json",
      codex: "/home/ada/.codex/config.toml",
      zed: "/home/ada/.config/zed/settings.json",
      jetbrains: "/home/ada/.jetbrains/acp.json",
      gemini: "/home/ada/.gemini/settings.json",
      opencode: "/home/ada/.config/opencode/opencode.json",
      goose: "/home/ada/.config/goose/config.yaml",
      windsurf: "/home/ada/.codeium/windsurf/mcp_config.json",
      cline: "/home/ada/.cline/data/settings/cline_mcp_settings.json",
      continue: "/home/ada/.continue/config.yaml",
    });
  });

  it("is elsewhere on macOS and Windows", () => {
    const support = "/home/ada/Library/Application Support";
    const mac = filesOn("darwin", { XDG_CONFIG_HOME: "/xdg" });
    assert.equal(mac["claude-desktop"], `${support}/Claude/claude_desktop_config.json`);
    assert.equal(mac.vscode, `${support}/Code/User/mcp.json`);
    assert.equal(mac.zed, "/home/ada/.config/zed/settings.json");
    const windows = filesOn("win32", { APPDATA: "/roaming" });
    assert.equal(windows.zed, "/roaming/Zed/settings.json");
    assert.equal(windows.goose, "/roaming/Block/goose/config/config.yaml");
  });

  it("is where a variable says", () => {
    const env = {
      XDG_CONFIG_HOME: "/xdg",
      CLAUDE_CONFIG_DIR: "/claude",
      CODEX_HOME: "/codex",
      GEMINI_CLI_HOME: "/gemini",
      OPENCODE_CONFIG: "/opencode.json",
      GOOSE_PATH_ROOT: "/goose",
      CLINE_MCP_SETTINGS_PATH: "relative/is/ignored",
    };
    const files = filesOn("linux", env);
    assert.equal(files["claude-code"], "/claude/.claude.json");
    assert.equal(files.codex, "/codex/config.toml");
    assert.equal(files.gemini, "/gemini/.gemini/settings.json");
    assert.equal(files.opencode, "/opencode.json");
    assert.equal(files.goose, "/goose/config/config.yaml");
    assert.equal(files.zed, "/xdg/zed/settings.json");
    assert.match(files.cline ?? "", /^\/home\/ada\//);
  });
});

it("the entries have the form that each program reads", () => {
  const start = { command: "/node", args: ["/trunkline.js", "mcp"] };
  const headers = { Authorization: "Bearer T" };
  const shapes = TARGETS.flatMap(({ name, entries }) =>
    entries.map(({ path, stdio, http }) => [
      `${name} ${path.join(".")}`,
      Object.keys(stdio(start)).join(" "),
      http === undefined ? "" : Object.keys(http("http://x/mcp", headers)).join(" "),
    ]),
  );
  assert.deepEqual(shapes, [
    ["claude-code mcpServers.trunkline", "type command args", "type url headers"],
    ["claude-desktop mcpServers.trunkline", "command args", ""],
    ["cursor mcpServers.trunkline", "command args", "url headers"],
    ["vscode servers.trunkline", "type command args", "type url headers"],
    ["codex mcp_servers.trunkline", "command args env_vars", "url http_headers"],
    ["zed context_servers.trunkline", "command args", "url headers"],
    ["zed agent_servers.Trunkline", "type command args", ""],
    ["jetbrains agent_servers.Trunkline", "command args", ""],
    ["gemini mcpServers.trunkline", "command args env", "type url headers"],
    ["opencode mcp.trunkline", "type command", "type url headers"],
    [
      "goose extensions.trunkline",
      "enabled name description type cmd args timeout",
      "enabled name description type uri headers timeout",
    ],
    ["windsurf mcpServers.trunkline", "command args", "serverUrl headers"],
    ["cline mcpServers.trunkline", "command args", "type url headers"],
    ["continue mcpServers.trunkline", "name command args", "name type url requestOptions"],
  ]);
});

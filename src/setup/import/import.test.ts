import assert from "node:assert/strict";
import { chmodSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { parse } from "jsonc-parser";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

/** Files as the programs write them. */
const FILES: Readonly<Record<string, string>> = {
  ".cursor/mcp.json": `{
    "mcpServers": {
      "files": { "command": "npx", "args": ["-y", "server-filesystem", "."], "autoApprove": ["read"] },
      "github": { "command": "github-mcp", "env": { "GITHUB_TOKEN": "ghp_0123456789abcdefghij0123", "LEVEL": "2" } },
      "here": { "command": "x", "args": ["\${workspaceFolder}"] },
      "made": { "command": "x", "args": ["\${cmd: date}"] },
      "trunkline": { "command": "/usr/bin/node", "args": ["/opt/trunkline/dist/trunkline.js", "mcp"] },
    }
  }`,
  ".codex/config.toml": `
[mcp_servers.files]
command = "npx"
args = ["-y", "server-filesystem", "/srv"]
startup_timeout_sec = 20

[mcp_servers.docs]
url = "https://docs.example.com/mcp"
bearer_token_env_var = "DOCS_TOKEN"

[mcp_servers.old]
command = "old"
enabled = false
`,
  ".config/goose/config.yaml": `extensions:
  developer: {enabled: true, type: builtin, name: developer}
  notes: {enabled: true, type: stdio, name: notes, cmd: notes, args: [--stdio], envs: {}, env_keys: [NOTES_KEY]}
`,
  ".gemini/settings.json": `{ "mcpServers": {
    "gateway": { "httpUrl": "http://127.0.0.1:4180/mcp", "headers": { "Authorization": "Bearer tlk_x" } } } }`,
  ".config/opencode/opencode.json": `{ "mcp": { "files": { "type": "local", "command": ["npx", "-y", "server-filesystem", "."] },
    "search": { "type": "remote", "url": "https://search.example.com/mcp", "headers": { "Authorization": "Bearer {env:KEY}" } } } }`,
  ".continue/config.yaml": `mcpServers:
  - name: local
    command: local
`,
  ".codeium/windsurf/mcp_config.json": `{ "mcpServers": { "broken" `,
};

async function commandLine(): Promise<SampleCommandLine> {
  const line = await SampleCommandLine.create({ mcpServers: { local: { command: "local" } } });
  for (const [file, text] of Object.entries(FILES)) {
    await line.home.write(join(line.home.path, file), text);
  }
  return line;
}

describe("trunkline setup --import", () => {
  it("adds the servers of other programs, once, and says what it leaves out", async () => {
    await using line = await commandLine();
    chmodSync(line.home.userFile, 0o644);
    const { code, out, err } = await line.run("setup", "--import", "--yes");
    assert.equal(code, 1, "a file could not be read");
    assert.match(err, /windsurf\/mcp_config\.json': it is not a JSON object \(line 1/);
    assert.match(
      err,
      /These are secrets, and are copied to .*, which only you can read:\n {2}github: env\.GITHUB_TOKEN\n/,
    );
    assert.doesNotMatch(out + err, /ghp_/);
    assert.deepEqual(out.split("\n").slice(0, -3), [
      "files (Cursor): npx -y server-filesystem .",
      "  CALLED WITHOUT ASKING: read",
      "github (Cursor): github-mcp",
      "  with variables: GITHUB_TOKEN=•••, LEVEL=2",
      "here (Cursor): x ${workspaceFolder}",
      "made (Cursor): not taken over, because it uses '${cmd: date}', which Trunkline does not expand",
      "files-codex (Codex): npx -y server-filesystem /srv; left out: startup_timeout_sec",
      "docs (Codex): https://docs.example.com/mcp",
      "  with headers: Authorization=Bearer ${DOCS_TOKEN}",
      "old (Codex): not taken over, because it is switched off",
      "search (opencode): https://search.example.com/mcp",
      "  with headers: Authorization=Bearer ${KEY}",
      "developer (goose): not taken over, because it is built into that program",
      "notes (goose): notes --stdio",
      "  with variables: NOTES_KEY=${NOTES_KEY}",
      "local (Continue): already there",
    ]);
    const { mcpServers } = parse(readFileSync(line.home.userFile, "utf8")) as {
      mcpServers: object;
    };
    assert.deepEqual(mcpServers, {
      local: { command: "local" },
      files: {
        command: "npx",
        args: ["-y", "server-filesystem", "."],
        autoApprove: ["read"],
      },
      github: {
        command: "github-mcp",
        env: { GITHUB_TOKEN: "ghp_0123456789abcdefghij0123", LEVEL: "2" },
      },
      here: { command: "x", args: ["${workspaceFolder}"] },
      "files-codex": { command: "npx", args: ["-y", "server-filesystem", "/srv"] },
      docs: {
        url: "https://docs.example.com/mcp",
        headers: { Authorization: "Bearer ${DOCS_TOKEN}" },
      },
      search: {
        url: "https://search.example.com/mcp",
        headers: { Authorization: "Bearer ${KEY}" },
      },
      notes: { command: "notes", args: ["--stdio"], env: { NOTES_KEY: "${NOTES_KEY}" } },
    });
    assert.equal(statSync(line.home.userFile).mode & 0o777, 0o600);
    assert.match((await line.run("setup", "--import", "--yes")).out, /\nNothing to import\.\n$/);
  });

  it("keeps what is switched off, or leaves the server out before anything is written", async () => {
    await using line = await SampleCommandLine.create({});
    const files: Readonly<Record<string, string>> = {
      ".gemini/settings.json": `{
        "mcp": { "excluded": ["off"] },
        "mcpServers": {
          "git": { "command": "git-mcp", "args": ["--key=$KEY"], "env": { "T": "$TOKEN" },
            "includeTools": ["log"], "excludeTools": ["push"] },
          "off": { "command": "off" } } }`,
      ".codex/config.toml": `
[mcp_servers.db]
command = "db"
enabled_tools = ["select"]
tool_timeout_sec = 90
`,
      ".cursor/mcp.json": `{ "mcpServers": {
        "env": { "command": "env-mcp", "cwd": "\${workspaceFolder}", "envFile": ".env" },
        "crm": { "url": "https://crm.example.com", "headersHelper": "get-token",
          "auth": { "CLIENT_ID": "me", "CLIENT_SECRET": "hidden-secret" } },
        "odd": { "command": "odd", "disabled_prompts": ["x"] },
        "wrong": { "command": "wrong", "cwd": 5 },
        "env2": { "command": "env2", "env": { "A": "1", "B": "\${cmd: date}" } } } }`,
      ".config/opencode/opencode.json": `{
        "tools": { "files_write*": false, "*_delete": false, "web_*": false, "bash": false },
        "mcp": { "files": { "type": "local", "command": ["files"] } } }`,
    };
    for (const [file, text] of Object.entries(files)) {
      await line.home.write(join(line.home.path, file), text);
    }
    const dry = await line.run("setup", "--import", "--dry-run");
    assert.match(dry.out, /odd \(Cursor\): not taken over, because .* 'disabled_prompts' switch/);
    assert.match(dry.out, /wrong \(Cursor\): not taken over, because 'cwd' must be a string\n/);
    assert.match(dry.out, /env2 \(Cursor\): env2; left out: env\.B\n/);
    assert.match(dry.out, /off \(Gemini CLI\): not taken over, because it is switched off/);
    assert.match(
      dry.out,
      /git \(Gemini CLI\): .*\n.*\n {2}only the tools: log\n {2}without the tools: push\n/,
    );
    assert.match(dry.err, /crm: oauth\.clientSecret/);
    assert.doesNotMatch(dry.out + dry.err, /hidden-secret/);
    await line.run("setup", "--import", "--yes");
    const { mcpServers } = parse(readFileSync(line.home.userFile, "utf8")) as {
      mcpServers: object;
    };
    assert.deepEqual(mcpServers, {
      git: {
        command: "git-mcp",
        args: ["--key=${KEY}"],
        env: { T: "${TOKEN}" },
        include: ["log"],
        exclude: ["push"],
      },
      db: { command: "db", timeout: 90, include: ["select"] },
      env: {
        command: "env-mcp",
        cwd: "${workspaceFolder}",
        envFile: "${workspaceFolder}/.env",
      },
      crm: {
        url: "https://crm.example.com",
        headersHelper: "get-token",
        oauth: { clientId: "me", clientSecret: "hidden-secret" },
      },
      env2: { command: "env2", env: { A: "1" } },
      files: { command: "files", exclude: ["write*", "*_delete"] },
    });
  });

  it("takes those of one program", async () => {
    await using line = await commandLine();
    await line.run("setup", "codex", "--import", "--yes");
    const { mcpServers } = parse(readFileSync(line.home.userFile, "utf8")) as {
      mcpServers: object;
    };
    assert.deepEqual(Object.keys(mcpServers), ["local", "files", "docs"]);
  });

  it("leaves out its own gateway, whatever the address that setup has written", async () => {
    await using line = await SampleCommandLine.create({ serve: { host: "192.0.2.7" } });
    const set = await line.run("setup", "gemini", "--http");
    assert.equal(set.code, 0, set.err);
    const file = join(line.home.path, ".gemini/settings.json");
    assert.match(readFileSync(file, "utf8"), /http:\/\/192\.0\.2\.7:\d+\/mcp/);
    const { out } = await line.run("setup", "gemini", "--import", "--dry-run");
    assert.match(out, /^No MCP servers were found\./);
    const text = readFileSync(file, "utf8");
    await line.home.write(file, text.replace(/tlk_[\w-]{9}/, "tlk_another_"));
    const another = await line.run("setup", "gemini", "--import", "--dry-run");
    assert.match(another.out, /^trunkline \(.*\): http:\/\/192\.0\.2\.7/);
  });

  it("changes nothing without agreement", async () => {
    await using line = await commandLine();
    const before = readFileSync(line.home.userFile, "utf8");
    const asked = await line.run("setup", "cursor", "--import");
    assert.deepEqual([asked.code, /Agree with --yes/.test(asked.err)], [2, true]);
    const shown = await line.run("setup", "cursor", "--import", "--dry-run");
    assert.deepEqual([shown.code, shown.out.startsWith("files (Cursor)")], [0, true]);
    assert.equal(readFileSync(line.home.userFile, "utf8"), before);
  });

  it("shows all that it takes over before it asks, in both formats", async () => {
    await using line = await SampleCommandLine.create({});
    const entry = {
      command: "run",
      args: ["--token", "swordfish"],
      cwd: "/tmp/there",
      env: { NODE_OPTIONS: "--require /tmp/x.js", A_KEY: "abc" },
      alwaysAllow: ["delete_all"],
      timeout: 5000,
    };
    const file = join(line.home.path, ".cursor/mcp.json");
    await line.home.write(file, JSON.stringify({ mcpServers: { "a\u001b[2K": entry } }));
    const asked = await line.run("setup", "cursor", "--import");
    assert.deepEqual(asked.out.split("\n"), [
      String.raw`a\u001b[2K (Cursor): run --token •••`,
      "  in the folder: /tmp/there",
      "  with variables: NODE_OPTIONS=--require /tmp/x.js, A_KEY=•••",
      "  CALLED WITHOUT ASKING: delete_all",
      "  milliseconds for a call: 5000",
      "",
    ]);
    assert.match(asked.err, /: args\[1\]\n.*Agree with --yes/s);
    const { out } = await line.run("setup", "cursor", "--import", "--dry-run", "--json");
    const { servers } = JSON.parse(out) as { servers: { takes: object }[] };
    assert.deepEqual(servers[0]?.takes, {
      env: { NODE_OPTIONS: "--require /tmp/x.js", A_KEY: "•••" },
      cwd: "/tmp/there",
      timeout: 5000,
      autoApprove: ["delete_all"],
    });
  });

  it("says of a file that is nested too deep that it cannot be read", async () => {
    await using line = await SampleCommandLine.create({});
    const file = join(line.home.path, ".cursor/mcp.json");
    for (const text of ["[".repeat(200_000), '{"a":'.repeat(50_000)]) {
      await line.home.write(file, text);
      const { code, err } = await line.run("setup", "cursor", "--import", "--dry-run");
      assert.deepEqual([code, /nested more than 64 levels deep/.test(err)], [1, true], err);
    }
  });

  it("prints no secret as JSON", async () => {
    await using line = await commandLine();
    const { out } = await line.run("setup", "--import", "--dry-run", "--json");
    const { servers } = JSON.parse(out) as { servers: { name: string; secrets: string[] }[] };
    assert.deepEqual(servers.find(({ name }) => name === "github")?.secrets, ["env.GITHUB_TOKEN"]);
    assert.doesNotMatch(out, /ghp_/);
  });
});

import assert from "node:assert/strict";
import { readdir, readFile, stat, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import type { ConfigFlags } from "../config.ts";
import { editConfig, type EditedKind } from "./edit-config.ts";
import { setValue, unsetValue } from "./set-value.ts";

interface Given {
  readonly kind?: EditedKind;
  readonly env?: NodeJS.ProcessEnv;
  readonly flags?: ConfigFlags;
}

function inputOf(home: SampleHome, { env, flags = {} }: Given) {
  return { cwd: home.project, env: { HOME: home.path, ...env }, flags };
}

function set(home: SampleHome, key: string, value: string, given: Given = {}) {
  return setValue(inputOf(home, given), given.kind ?? "user", key, value);
}

function unset(home: SampleHome, key: string, given: Given = {}) {
  return unsetValue(inputOf(home, given), given.kind ?? "user", key);
}

describe("setValue()", () => {
  it("creates the user's file for its owner only", async () => {
    await using home = await SampleHome.create();
    const edited = await set(home, "serve.port", "4999");
    assert.deepEqual(edited, {
      file: home.userFile,
      kind: "user",
      isCreated: true,
      isChanged: true,
      notes: [],
    });
    assert.equal((await home.load()).config.serve.port, 4999);
    // Its name from before is written as the new one.
    await set(home, "server.port", "4998");
    const { config, warnings } = await home.load();
    assert.deepEqual([config.serve.port, warnings], [4998, []]);
    assert.equal((await stat(home.userFile)).mode & 0o777, 0o600);
  });

  it("keeps comments, and the text before in a backup for the owner only", async () => {
    await using home = await SampleHome.create();
    const text = '{\n  // why\n  "log": { "level": "warn" }, // here\n}\n';
    await home.write(home.userFile, text);
    const { backup = "" } = await set(home, "log.level", "debug");
    assert.equal(await readFile(home.userFile, "utf8"), text.replace("warn", "debug"));
    assert.equal(await readFile(backup, "utf8"), text);
    assert.equal((await stat(backup)).mode & 0o777, 0o600);
    for (let port = 1; port <= 12; port++) await set(home, "serve.port", String(port));
    assert.equal((await readdir(join(home.data, "config-backups"))).length, 10);
  });

  it("refuses what the schema does not allow, in words without a position, and writes nothing", async () => {
    await using home = await SampleHome.create();
    await set(home, "serve.port", "1");
    const before = await readFile(home.userFile, "utf8");
    const cases: readonly (readonly [string, string, string])[] = [
      ["serve.port", "70000", "Cannot set 'serve.port': it must be at most 65535."],
      ["serve.port", "abc", "Cannot set 'serve.port': it must be an integer."],
      ["serve.prot", "1", "Cannot set 'serve.prot': it is not a known key; did you mean 'port'?"],
    ];
    for (const [key, value, message] of cases) {
      await assert.rejects(set(home, key, value), { code: "usage", message });
    }
    await assert.rejects(set(home, "a..b", "1"), /^TrunklineError: Cannot read 'a\.\.b' as a key/);
    assert.equal(await readFile(home.userFile, "utf8"), before);
  });

  it("refuses a data folder that would stop every command", async () => {
    await using home = await SampleHome.create();
    await assert.rejects(set(home, "data", "/proc/1/x"), /^TrunklineError: Cannot keep state in/);
    await assert.rejects(readFile(home.userFile), { code: "ENOENT" });
    await home.write(join(home.path, "file"), "");
    const flags = { data: join(home.path, "file/below") };
    await assert.rejects(set(home, "log.level", "debug", { flags }), /Choose another with --data/);
  });

  it("mends a value that is wrong in the file, but leaves a file that is no JSON alone", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, '{ "serve": { "port": "x" } }');
    await assert.rejects(set(home, "log.level", "debug"), /config\.jsonc:1:\d+: 'serve\.port'/);
    await set(home, "serve.port", "1");
    assert.equal((await home.load()).config.serve.port, 1);
    await home.write(home.userFile, "{ oops");
    await assert.rejects(set(home, "serve.port", "1"), { code: "config" });
    assert.equal(await readFile(home.userFile, "utf8"), "{ oops");
  });

  it("reads a value as the key wants it", async () => {
    await using home = await SampleHome.create();
    await set(home, "mcpServers.a", '{"command":"a"}');
    await set(home, "mcpServers.a.env.LEVEL", "1");
    await set(home, "log.verbose", "yes");
    await set(home, "data", '"/tmp/x"');
    const { config } = await home.load();
    assert.deepEqual(config.mcpServers.a, { command: "a", env: { LEVEL: "1" } });
    assert.equal(config.log.verbose, true);
    assert.equal(config.data, "/tmp/x");
  });

  it("keeps the name of an agent that was given by its name alone", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, '{ "agent": "claude" }');
    await set(home, "agent.egress.allowHosts", '["example.com"]');
    const { agent } = (await home.load()).config;
    assert.equal(agent.name, "claude");
    assert.deepEqual(agent.egress.allowHosts, ["example.com"]);
    await set(home, "agent", "codex");
    const next = (await home.load()).config.agent;
    assert.equal(next.name, "codex");
    assert.deepEqual(next.egress.allowHosts, ["example.com"]);
  });

  it("says what hides the new value", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, '{ "log": { "level": "warn" } }');
    const byProject = await set(home, "log.level", "debug");
    assert.deepEqual(byProject.notes, [
      `'log.level' keeps its value, since a stronger source sets it: ${home.projectFile}:1:21`,
    ]);
    const env = { TRUNKLINE_SERVE_PORT: "1" };
    const byVariable = await set(home, "serve", '{"port":2,"host":"::1"}', { env });
    assert.match(byVariable.notes.join(), /^'serve\.port' keeps .*: TRUNKLINE_SERVE_PORT$/);
    const flags = { set: ["agents.x.command=y"] };
    const byFlag = await set(home, "agents.x.command", "z", { flags });
    assert.match(byFlag.notes.join(), /: --set agents\.x\.command$/);
  });
});

describe("unsetValue()", () => {
  it("removes a value, and says what sets it still", async () => {
    await using home = await SampleHome.create();
    await set(home, "serve.port", "1");
    const { notes } = await unset(home, "serve.port", { env: { TRUNKLINE_SERVE_PORT: "2" } });
    assert.deepEqual(notes, ["'serve.port' is still set: TRUNKLINE_SERVE_PORT"]);
    assert.equal((await home.load()).config.serve.port, 4180);
  });

  it("refuses what is not set, and what others need", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, '{ "agents": { "a": { "command": "a" } }, "agent": "a" }');
    await assert.rejects(unset(home, "agents.a.comand"), {
      code: "not-found",
      message:
        "Cannot unset 'agents.a.comand': your own file does not set it. Did you mean 'agents.a.command'?",
    });
    await assert.rejects(unset(home, "agents.a.command"), /^TrunklineError: Cannot unset 'agents/);
    await unset(home, "agent.name");
    assert.equal((await home.load()).config.agent.name, "trunkline");
  });
});

describe("editConfig() of the project's file", () => {
  const kind = "project";

  it("creates it in the root of the work tree, trusted, and keeps the trust", async () => {
    await using home = await SampleHome.create();
    const cwd = join(home.project, "src");
    await home.write(join(cwd, "x"), "");
    const input = { cwd, env: { HOME: home.path }, flags: {} };
    const made = await setValue(input, kind, "agents.x.command", "y");
    assert.equal(made.file, home.projectFile);
    assert.deepEqual(made.notes, []);
    await set(home, "agents.x.args", '["z"]', { kind });
    assert.deepEqual((await home.load()).config.agents.x, { command: "y", args: ["z"] });
  });

  it("does not trust a file that was not trusted, and says so", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, '{ "agents": { "evil": { "command": "e" } } }');
    const { notes } = await set(home, "mcpServers.a.command", "a", { kind });
    assert.match(notes.join("\n"), /'mcpServers' is ignored: .*`trunkline config trust`/);
    assert.deepEqual((await home.load()).config.agents, {});
  });

  it("refuses what no project may set, wrong values, and a link", async () => {
    await using home = await SampleHome.create();
    await assert.rejects(
      set(home, "identities.a.provider", "github", { kind }),
      /Leave out --project/,
    );
    await assert.rejects(set(home, "serve.port", "x", { kind }), /must be an integer/);
    const real = join(home.path, "other.jsonc");
    await home.write(real, "{}");
    await symlink(real, home.projectFile);
    await assert.rejects(set(home, "log.level", "warn", { kind }), /it is a link/);
    assert.equal(await readFile(real, "utf8"), "{}");
  });

  it("accepts a part of what the user's file begins", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, '{ "mcpServers": { "a": { "command": "a" } } }');
    await set(home, "mcpServers.a.cwd", "here", { kind });
    const { mcpServers } = (await home.load()).config;
    assert.deepEqual(mcpServers.a, { command: "a", cwd: join(home.project, "here") });
    await assert.rejects(
      set(home, "mcpServers.b.cwd", "here", { kind }),
      /^TrunklineError: Cannot set 'mcpServers\.b\.cwd': 'mcpServers\.b\.command' is missing\.$/,
    );
  });
});

describe("editConfig()", () => {
  it("writes a file that --config names and that does not exist yet", async () => {
    await using home = await SampleHome.create();
    const flags = { config: "team.jsonc" };
    const input = { cwd: home.project, env: { HOME: home.path }, flags };
    await editConfig(input, "user", () => [{ path: ["serve", "port"], value: 7 }]);
    assert.equal((await home.load({ flags })).config.serve.port, 7);
  });
});

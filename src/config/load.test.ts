import { execFileSync } from "node:child_process";
import { chmod, mkdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import assert from "node:assert/strict";

import { type ConfigFlags, defaultConfig } from "./config.ts";
import { SampleHome } from "../../test/samples/sample-home.ts";

describe("loadConfig()", () => {
  it("returns the defaults if nothing is configured", async () => {
    await using home = await SampleHome.create();
    const { config, origins, warnings, files } = await home.load();
    assert.deepEqual(config, defaultConfig(home.data));
    assert.deepEqual(warnings, []);
    assert.deepEqual(files, [{ kind: "user", path: home.userFile, isFound: false }]);
    assert.deepEqual(origins.get("serve.port"), { kind: "default", where: "built in" });
  });

  describe("lets the source with higher priority win, for every pair of them", () => {
    const SOURCES = ["user", "project", "environment", "flag"] as const;
    const LEVELS = { user: "debug", project: "warn", environment: "error", flag: "info" } as const;
    for (const [strength, strong] of SOURCES.entries()) {
      for (const weak of SOURCES.slice(0, strength)) {
        it(`${strong} over ${weak}`, async () => {
          await using home = await SampleHome.create();
          const env: NodeJS.ProcessEnv = {};
          let flags: ConfigFlags = {};
          for (const source of [weak, strong]) {
            const level = LEVELS[source];
            const text = JSON.stringify({ log: { level } });
            if (source === "user") await home.write(home.userFile, text);
            if (source === "project") await home.write(home.projectFile, text);
            if (source === "environment") env.TRUNKLINE_LOG_LEVEL = level;
            if (source === "flag") flags = { set: [`log.level=${level}`] };
          }
          const { config, origins } = await home.load({ env, flags });
          assert.equal(config.log.level, LEVELS[strong]);
          const where = {
            user: `${home.userFile}:1:17`,
            project: `${home.projectFile}:1:17`,
            environment: "TRUNKLINE_LOG_LEVEL",
            flag: "--set log.level",
          }[strong];
          assert.deepEqual(origins.get("log.level"), { kind: strong, where });
          assert.equal(origins.get("log.verbose")?.kind, "default");
        });
      }
    }
  });

  it("takes an agent by its name alone, beside what else is said of it", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, `{ "agent": "goose" }`);
    const { config, origins } = await home.load({ env: { TRUNKLINE_AGENT_SANDBOX: "on" } });
    assert.deepEqual([config.agent.name, config.agent.sandbox], ["goose", "on"]);
    assert.equal(origins.get("agent.name")?.where, `${home.userFile}:1:12`);
    await home.write(
      home.userFile,
      `{ "agent": { "sandbox": "off", "files": { "hide": ["~/x"] } } }`,
    );
    const named = await home.load({ env: { TRUNKLINE_AGENT: "a" }, flags: { set: ["agent=b"] } });
    assert.deepEqual(named.config.agent, {
      ...defaultConfig(home.data).agent,
      name: "b",
      sandbox: "off",
      files: { write: [], hide: [join(home.path, "x")], show: [] },
    });
    assert.equal(named.origins.get("agent.name")?.where, "--set agent");
    await assert.rejects(home.load({ flags: { set: ["agent.sandbox=maybe"] } }), /agent\.sandbox/);
    await assert.rejects(home.load({ flags: { set: ["agent=5"] } }), /'agent' must be/);
  });

  it("merges objects value by value, and replaces lists", async () => {
    await using home = await SampleHome.create();
    await home.write(
      home.userFile,
      `{
        "serve": { "host": "0.0.0.0", "port": 1 },
        "mcpServers": { "a": { "command": "a", "args": ["1", "2"], "env": { "X": "1" } } }
      }`,
    );
    const set = ["serve.port=2", 'mcpServers.a.args=["3"]', 'mcpServers.a.env.Y="2"'];
    const { config, origins } = await home.load({ flags: { set } });
    assert.partialDeepStrictEqual(config.serve, { host: "0.0.0.0", port: 2 });
    const a = { command: "a", args: ["3"], env: { X: "1", Y: "2" } };
    assert.deepEqual(config.mcpServers, { a });
    assert.equal(origins.get("mcpServers.a.env.X")?.where, `${home.userFile}:3:82`);
    assert.equal(origins.get("mcpServers.a.env.Y")?.where, "--set mcpServers.a.env.Y");
  });

  it("replaces an MCP server that becomes a URL", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, `{ "mcpServers": { "a": { "command": "a", "cwd": "/" } } }`);
    const set = [`mcpServers.a={"url":"https://example.com/mcp"}`];
    const { config } = await home.load({ flags: { set } });
    assert.deepEqual(config.mcpServers, { a: { url: "https://example.com/mcp" } });
  });

  it("leaves out an MCP server that is wrong, and says so, but keeps the others", async () => {
    await using home = await SampleHome.create();
    const wrong = { b: { url: "ftp://x" }, c: 1, d: { command: "d", args: [null] }, e: {} };
    const mcpServers = { a: { command: "a" }, ...wrong, f: { command: "f" } };
    await home.write(home.userFile, JSON.stringify({ mcpServers, serve: { port: 5 } }));
    const { config, warnings } = await home.load();
    assert.deepEqual(config.mcpServers, { a: { command: "a" }, f: { command: "f" } });
    assert.equal(config.serve.port, 5);
    const left = ["b.url", "c", "d.args[0]", "e.command"];
    assert.equal(warnings.length, left.length);
    for (const [at, part] of left.entries()) {
      const warning = warnings[at] ?? "";
      assert.ok(warning.startsWith(`${home.userFile}:1:`), warning);
      assert.ok(warning.includes(`'mcpServers.${part}' `), warning);
      assert.match(warning, /\. The server is left out$/);
    }
    // Somebody who types it is told.
    const set = [`mcpServers.g={"url":"ftp://x"}`];
    await assert.rejects(home.load({ flags: { set } }), { code: "usage" });
  });

  it("takes addresses with references, which are checked when the server is started", async () => {
    await using home = await SampleHome.create();
    const addresses = [
      "https://${env:HOST}/mcp",
      "http://127.0.0.1:${PORT}/mcp",
      "https://${keychain:TENANT}.example/",
      "${ADDRESS}",
    ];
    for (const url of addresses) {
      await home.write(home.userFile, JSON.stringify({ mcpServers: { a: { url } } }));
      assert.deepEqual((await home.load({ isStrict: true })).config.mcpServers, { a: { url } });
    }
    await home.write(home.userFile, `{ "mcpServers": { "a": { "url": "ftp://\${HOST}/" } } }`);
    await assert.rejects(home.load({ isStrict: true }), { code: "config" });
  });

  it("accepts '$schema' and leaves it out", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, `{ "$schema": "./config.schema.json" }`);
    const { config } = await home.load();
    assert.deepEqual(config, defaultConfig(home.data));
  });

  it("resolves paths of a file from the file's folder", async () => {
    await using home = await SampleHome.create();
    const text = `{
      "data": "state",
      "mcpServers": {
        "a": { "command": "./serve", "cwd": "." },
        "b": { "command": "node", "cwd": "~/work" }
      },
      "agents": { "c": { "command": "~/bin/agent" } }
    }`;
    await home.write(home.userFile, text);
    const { config } = await home.load();
    const folder = join(home.path, ".config/trunkline");
    assert.equal(config.data, join(folder, "state"));
    assert.deepEqual(config.mcpServers, {
      a: { command: join(folder, "serve"), cwd: folder },
      b: { command: "node", cwd: join(home.path, "work") },
    });
    assert.deepEqual(config.agents, { c: { command: join(home.path, "bin/agent") } });
  });
});

describe("loadConfig() refuses", () => {
  const WRONG: readonly (readonly [text: string, message: string])[] = [
    ['{\n  "serve": { "port": 65536 }\n}', "2:22: 'serve.port' must be at most 65535"],
    [
      '{\n  "serve": { "prot": 1 }\n}',
      "2:14: 'serve.prot' is not a known key; did you mean 'port'?",
    ],
    ['{ "mcpServer": {} }', "1:3: 'mcpServer' is not a known key; did you mean 'mcpServers'?"],
    ['{ "nonsense": {} }', "1:3: 'nonsense' is not a known key"],
    [
      '{ "log": { "level": "loud" } }',
      "1:21: 'log.level' must be one of: debug, info, warn, error",
    ],
    [
      '{ "mcpServers": { "my server": { "args": [] } } }',
      `1:32: 'mcpServers["my server"].command' is missing`,
    ],
    [
      '{ "mcpServers": { "a": { "url": "ftp://x" } } }',
      "1:33: 'mcpServers.a.url' must begin with http:// or https://",
    ],
    [
      '{ "mcpServers": { "a": { "command": "x", "args": ["y", null] } } }',
      "1:56: 'mcpServers.a.args[1]' must be a string",
    ],
    [
      '{ "limits": { "messages": { "fs/*": { "rate": { "limit": 0, "windowMs": 9 } } } } }',
      `1:58: 'limits.messages["fs/*"].rate.limit' must be at least 1`,
    ],
    [
      '{ "policy": { "tools": { "rules": [{ "tool": "x" }] } } }',
      "1:36: 'policy.tools.rules[0].decision' is missing",
    ],
    [
      '{ "bus": { "listen": "x" } }',
      "1:22: 'bus.listen' must be HOST:PORT, quic://HOST:PORT or tls://HOST:PORT",
    ],
    [
      '{ "models": { "default": "gpt-5" } }',
      "1:26: 'models.default' must be provider/model, such as anthropic/claude-sonnet-4-5, or offline",
    ],
    ['{ "data": "" }', "1:11: 'data' must not be empty"],
    ["[]", "1:1: the configuration must be an object"],
    ['{ "serve": { "port": 1e999 } }', "1:22: 'serve.port' must be an integer"],
  ];
  for (const [text, message] of WRONG) {
    it(JSON.stringify(text), async () => {
      await using home = await SampleHome.create();
      await home.write(home.userFile, text);
      const expected = { code: "config", message: `${home.userFile}:${message}` };
      await assert.rejects(home.load({ isStrict: true }), expected);
    });
  }

  it("a named file that does not exist", async () => {
    await using home = await SampleHome.create();
    const file = join(home.path, "none.jsonc");
    await assert.rejects(home.load({ flags: { config: file } }), {
      code: "config",
      message: `Cannot read configuration file '${file}', named by --config: no such file`,
    });
    await assert.rejects(home.load({ env: { TRUNKLINE_CONFIG: file } }), {
      code: "config",
      message: `Cannot read configuration file '${file}', named by TRUNKLINE_CONFIG: no such file`,
    });
  });

  it("a folder, a pipe and a circular link", async () => {
    await using home = await SampleHome.create();
    await mkdir(home.userFile, { recursive: true });
    const message = `Cannot read configuration file '${home.userFile}': it is a folder`;
    await assert.rejects(home.load(), { code: "config", message });
    const pipe = join(home.path, "pipe");
    execFileSync("mkfifo", [pipe]);
    await assert.rejects(home.load({ flags: { config: pipe } }), /it is not a regular file$/);
    const loop = join(home.path, "loop");
    await symlink(loop, loop);
    await assert.rejects(home.load({ flags: { config: loop } }), {
      code: "config",
      message: /ELOOP/,
    });
  });

  const isRoot = process.getuid?.() === 0;
  const skip = isRoot && "root may read everything; run the tests as another user";
  it("a file without read permission", { skip }, async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, "{}");
    await chmod(home.userFile, 0);
    await assert.rejects(home.load(), /: permission denied$/);
  });

  it("a file that is huge, or not text", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, " ".repeat(10_000_000));
    await assert.rejects(home.load(), /its 10000000 bytes are over the limit of 1048576$/);
    const binary = Buffer.from([0x7b, 0xff, 0x7d]);
    await home.write(home.userFile, binary as unknown as string);
    await assert.rejects(home.load(), /it is not valid UTF-8$/);
  });

  it("a hostile file, without a crash or a changed prototype", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, `{ "__proto__": { "polluted": true } }`);
    await assert.rejects(home.load(), /:1:3: '__proto__' cannot be a key$/);
    await home.write(home.userFile, `{ "mcpServers": { "__proto__": { "command": "x" } } }`);
    await assert.rejects(home.load(), /:1:19: '__proto__' cannot be a key$/);
    await home.write(home.userFile, `{ "mcpServers": { "constructor": { "command": "x" } } }`);
    const { config } = await home.load();
    assert.deepEqual(config.mcpServers, { constructor: { command: "x" } });
    await home.write(home.userFile, `{"a":`.repeat(100_000));
    await assert.rejects(home.load(), /nested more than 64 levels deep$/);
    assert.equal("polluted" in {}, false);
  });

  const isLinux = process.platform === "linux";
  it("a data folder that cannot be created", { skip: !isLinux && "needs /proc" }, async () => {
    await using home = await SampleHome.create();
    const load = (data: string) => home.load({ flags: { data } });
    await assert.rejects(load("/proc/nope/deep"), /: Cannot keep state in '\/proc\/nope\/deep'/);
    await assert.rejects(load("/proc/self"), { code: "config" });
    const { config } = await load("/proc/self/cwd/data");
    assert.equal(config.data, "/proc/self/cwd/data");
  });
});

describe("loadConfig(), with names from before,", () => {
  it("takes `server` as `serve`, in every source, and says the new name", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, `{ "server": { "host": "::1", "port": 1 } }`);
    const { config, origins, warnings } = await home.load();
    assert.partialDeepStrictEqual(config.serve, { host: "::1", port: 1 });
    assert.deepEqual(origins.get("serve.port"), { kind: "user", where: `${home.userFile}:1:38` });
    assert.deepEqual(warnings, [
      `${home.userFile}:1:23: 'server.host' is now 'serve.host'`,
      `${home.userFile}:1:38: 'server.port' is now 'serve.port'`,
    ]);
    const stronger = await home.load({ env: { TRUNKLINE_SERVER_PORT: "2" } });
    assert.equal(stronger.config.serve.port, 2);
    assert.match(stronger.warnings.join(), /TRUNKLINE_SERVER_PORT: 'server.port' is now/);
    const strongest = { env: { TRUNKLINE_SERVER_PORT: "2" }, flags: { set: ["server.port=3"] } };
    assert.equal((await home.load(strongest)).config.serve.port, 3);
    assert.equal((await home.load({ flags: { port: 4 } })).config.serve.port, 4);
  });

  it("prefers the new name of one source, and complains of what was written", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, `{ "server": { "port": 1 }, "serve": { "port": 2 } }`);
    assert.equal((await home.load()).config.serve.port, 2);
    await home.write(home.userFile, `{ "server": { "port": 65536 } }`);
    await assert.rejects(home.load(), /:1:23: 'server\.port' must be at most 65535$/);
    await home.write(home.userFile, `{ "server": { "prot": 1 } }`);
    await assert.rejects(home.load(), /:1:15: 'server\.prot' .*did you mean 'port'/);
    await home.write(home.userFile, `{ "server": 1 }`);
    await assert.rejects(home.load(), /'server'/);
  });
});

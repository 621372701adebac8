import assert from "node:assert/strict";
import { chmodSync, existsSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

import { Log } from "../../base/log.ts";
import { selfCommand } from "../../base/process/self-command.ts";
import { shellWord } from "../../base/text/shell-word.ts";
import { busPlan, openBus } from "../../plugin/open/bus.ts";
import { pinOf } from "../../plugin/plugin/pin.ts";
import { Certificates } from "../../protocol/bus/certificates/certificates.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

describe("trunkline plugin new", () => {
  it("creates a plugin in a folder of its name, or in another, and never overwrites files", async () => {
    await using line = await SampleCommandLine.create();
    const { project } = line.home;
    const created = await line.json("plugin", "new", "greeter");
    assert.deepEqual(created, { plugin: "greeter", folder: join(project, "greeter") });
    assert.ok(existsSync(join(project, "greeter/package.json")));
    assert.equal((await line.run("plugin", "new", "greeter")).code, 2);
    line.env.PATH = "/usr/bin:/bin";
    const { code, out } = await line.run("plugin", "new", "greeter", "--dir", "elsewhere");
    assert.equal(code, 0);
    const program = selfCommand().map(shellWord).join(" ");
    assert.ok(out.includes(`\n  ${program} plugin dev .\n`), "as it can be typed here");
    assert.ok(existsSync(join(project, "elsewhere/package.json")));
  });

  it("refuses a name that cannot be an id", async () => {
    await using line = await SampleCommandLine.create();
    const { code, err } = await line.run("plugin", "new", "../Greeter");
    assert.equal(code, 2);
    assert.match(err, /'\.\.\/Greeter'/);
  });
});

describe("trunkline plugin list, call, log and restart", () => {
  /** Port 1 is nobody's. */
  const NOBODY = ["--orchestrator-addr", "tls://127.0.0.1:1"];

  for (const args of [["list"], ["call", "greet"], ["log", "x"], ["restart", "x"]]) {
    it(`says that no bus is running: ${args.join(" ")}`, async () => {
      await using line = await SampleCommandLine.create();
      const { config } = await line.home.load();
      // One that ran before.
      await new Certificates(busPlan(config).certsDir).trusted();
      const { code, out, err } = await line.run("plugin", ...args, ...NOBODY);
      assert.deepEqual([code, out], [1, ""]);
      assert.match(err, /127\.0\.0\.1:1.*Run `trunkline orchestrator`/);
      assert.doesNotMatch(err, /bug in Trunkline/);
    });
  }

  it("lists the configured plugins if no bus runs, and says how to start one", async () => {
    const plugins = { greeter: { command: "true" } };
    await using line = await SampleCommandLine.create({ bus: { plugins } });
    const { code, out, err } = await line.run("plugin", "list");
    assert.equal(code, 0);
    assert.match(out, /^PLUGIN +STATE\ngreeter +not running\n$/);
    assert.deepEqual(await line.json("plugin", "list"), {
      plugins: [{ id: "greeter", state: "not running" }],
    });
    const { data } = (await line.home.load()).config;
    assert.ok(
      err.includes(`No bus runs with the data folder '${data}'. Run \`trunkline serve\` with`),
      err,
    );
    const anyPort = await line.run("plugin", "list", "--set", "bus.listen=localhost:0");
    assert.equal(anyPort.err, err);
  });

  it("find the bus that runs on the data folder, without being told where", async () => {
    await using line = await SampleCommandLine.create();
    const { config } = await line.home.load();
    const offer = new Offer();
    const plan = { ...busPlan(config), listen: "tls://localhost:0" };
    await using _bus = await openBus(plan, { offer, log: new Log("error"), data: config.data });
    const { code, err } = await line.run("plugin", "list");
    assert.deepEqual([code, err], [0, "The bus has no plugins.\n"]);
  });

  it("list what each plugin may have under way, and what it has", async () => {
    await using line = await SampleCommandLine.create();
    const { config } = await line.home.load();
    const limited = { command: "/nowhere/plugin", calls: 3, queue: 5, callTimeout: 2_000 };
    const plugins = { limited, other: { command: "/nowhere/plugin" } };
    const plan = { ...busPlan({ ...config, bus: { ...config.bus, plugins } }) };
    const options = { offer: new Offer(), log: new Log("error"), data: config.data };
    await using _bus = await openBus({ ...plan, listen: "tls://localhost:0" }, options);
    const { out } = await line.run("plugin", "list");
    assert.match(
      out,
      /^PLUGIN +STATE +TOOLS +CALLS +WAITING +TIMEOUT +RESTARTS +SANDBOX +HOSTS +HEALTH\n/,
    );
    assert.match(out, /^limited +\w+ +0 +0 of 3 +0 of 5 +2 s +\d/m);
    assert.match(out, /^other +\w+ +0 +0 of 128 +0 of 2048 +600 s +\d/m);
  });

  it("make no authority of their own in a folder that is not that of a bus", async () => {
    await using line = await SampleCommandLine.create();
    const missing = ["--certs-dir", "missing"];
    for (const args of [
      ["plugin", "list", "--orchestrator-addr", "tls://localhost:1", ...missing],
      ["plugin", "test", "--addr", "tls://localhost:1", ...missing],
    ]) {
      const { code, err } = await line.run(...args);
      assert.equal(code, 1);
      assert.match(
        err,
        /There is no authority in '.*missing': 'ca\.crt' is missing\. .* name its folder with --certs-dir/,
      );
    }
    assert.equal(existsSync(join(line.home.project, "missing")), false);
  });

  it("refuse an empty certificate folder, and arguments that are not an object", async () => {
    await using line = await SampleCommandLine.create();
    const empty = await line.run("plugin", "list", "--certs-dir=");
    assert.equal(empty.code, 2);
    assert.match(empty.err, /--certs-dir of 'trunkline plugin list' cannot be empty/);
    assert.equal((await line.run("plugin", "call", "greet", "--args", "[]")).code, 2);
  });
});

/** Without a sandbox, so that the tests do not depend on this machine: everything is asked for then. */
const OPEN = { bus: { sandbox: "off" } };
const PROVIDES = { tools: ["*"], prompts: ["*"] };

/** The plugins of the configuration, all of which are pinned, without that. */
async function pinnedIn({ home }: SampleCommandLine): Promise<object> {
  const { plugins } = (await home.load()).config.bus;
  const all = Object.entries(plugins).map(([id, { pin, ...entry }]) => {
    assert.match(pin?.sha256 ?? "", /^[0-9a-f]{64}$/);
    return [id, entry];
  });
  return Object.fromEntries(all);
}

describe("trunkline plugin add and remove", () => {
  it("write the program of a plugin under its own id", async () => {
    await using line = await SampleCommandLine.create(OPEN);
    const file = join(line.home.project, "p.mjs");
    await line.home.write(file, "throw new Error('It was run');");
    await line.home.write(join(line.home.project, "trunkline.plugin.json"), '{ "id": "tools.p" }');
    const add = ["plugin", "add", "p.mjs", "--allow-everything"];
    const added = await line.run(...add, "--env", "A=1", "--", "--fast");
    assert.equal(added.code, 0, added.err);
    const permissions = { everything: true, namespace: "tools.p", provides: PROVIDES };
    const plugin = { module: file, args: ["--fast"], permissions, env: { A: "1" } };
    assert.deepEqual(await pinnedIn(line), { "tools.p": plugin });
    assert.match((await line.run(...add)).err, /--replace replaces it/);
    assert.equal((await line.run(...add, "--replace")).code, 0);
    const { config } = await line.home.load();
    assert.deepEqual(await pinnedIn(line), { "tools.p": { module: file, permissions } });
    const [{ code, binary, args } = {}] = busPlan(config).plugins;
    assert.deepEqual([code, binary, args], [file, process.execPath, [file]]);
    assert.equal((await line.run("plugin", "remove", "tools.p")).code, 0);
    assert.deepEqual((await line.home.load()).config.bus.plugins, {});
  });

  it("find the program of an installed package, and of its folder", async () => {
    await using line = await SampleCommandLine.create(OPEN);
    const folder = join(line.home.project, "node_modules/@team/plugin");
    await line.home.write(join(folder, "package.json"), '{ "trunkline": "./src/p.mjs" }');
    await line.home.write(join(folder, "src/p.mjs"), "");
    await line.home.write(join(folder, "trunkline.plugin.json"), '{ "id": "tools.team" }');
    const module = join(folder, "src/p.mjs");
    for (const named of ["@team/plugin", "./node_modules/@team/plugin"]) {
      const added = await line.run("plugin", "add", named, "--replace", "--allow-everything");
      assert.equal(added.code, 0, added.err);
      const permissions = { everything: true, namespace: "tools.team", provides: PROVIDES };
      assert.deepEqual(await pinnedIn(line), { "tools.team": { module, permissions } });
    }
    // Also into a file that is not there yet.
    const fresh = join(line.home.project, "fresh.jsonc");
    const made = await line.run(
      ...["plugin", "add", "@team/plugin", "--allow-everything", "--config", fresh],
    );
    assert.deepEqual([made.code, existsSync(fresh)], [0, true], made.err);
    const missing = await line.run("plugin", "add", "@team/other");
    assert.match(missing.err, /Install it first: `npm install @team\/other`/);
  });

  it("refuse an id or a path that leads elsewhere than it looks", async () => {
    await using line = await SampleCommandLine.create(OPEN);
    const add = ["plugin", "add", "p.mjs", "--approve", "--allow-everything"];
    await line.home.write(join(line.home.project, "p.mjs"), "");
    const file = join(line.home.project, "trunkline.plugin.json");
    for (const manifest of [{ id: "../../x" }, { id: "x", permissions: { namespace: "../y" } }]) {
      await line.home.write(file, JSON.stringify(manifest));
      const { code, err } = await line.run(...add);
      assert.notEqual(code, 0);
      assert.match(err, /Cannot have a plugin '\.\..*': use/);
    }
    assert.deepEqual((await line.home.load()).config.bus.plugins, {});
    assert.equal((await line.run("plugin", "add", "--mcp", "--id", "..", "--", "x")).code, 1);
  });

  it("write an MCP server as one line, which starts this program around it", async () => {
    await using line = await SampleCommandLine.create();
    const server = ["npx", "-y", "server-files@1.0.0", "."];
    const add = ["plugin", "add", "--mcp", "--env", "A=1"];
    const refused = await line.run(...add, "--approve", "--", ...server);
    assert.equal(refused.code, 1);
    assert.match(refused.err, /do everything on this machine .* --allow-everything if you agree/s);
    const added = await line.run(...add, "--allow-everything", "--", ...server);
    assert.equal(added.code, 0, added.err);
    const { config } = await line.home.load();
    const id = "mcp.server-files";
    const permissions = { everything: true, namespace: id };
    // Its words count from where they were typed, wherever a gateway is started.
    const cwd = line.home.project;
    const entry = { mcp: server, cwd, permissions, env: { A: "1" } };
    assert.deepEqual(config.bus.plugins, { [id]: entry });
    const [plugin] = busPlan(config).plugins;
    const wrap = ["plugin", "wrap", "--id", id, "--cwd", cwd, "--", ...server];
    assert.deepEqual(plugin?.args.slice(-wrap.length), wrap);
    assert.deepEqual(plugin?.env, { A: "1" });
  });

  it("start an MCP server in the folder of --cwd, and pin its script there", async () => {
    await using line = await SampleCommandLine.create();
    const script = join(line.home.project, "src/server.mjs");
    await line.home.write(script, "");
    const words = [
      "--allow-everything",
      "--id",
      "mcp.own",
      "--cwd",
      "src",
      "--",
      "node",
      "server.mjs",
    ];
    assert.equal((await line.run("plugin", "add", "--mcp", ...words)).code, 0);
    const permissions = { everything: true, namespace: "mcp.own" };
    const entry = { mcp: ["node", "server.mjs"], cwd: dirname(script), permissions };
    assert.deepEqual(await pinnedIn(line), { "mcp.own": entry });
    const misplaced = await line.run("plugin", "add", "src/server.mjs", "--cwd", "src");
    assert.equal(misplaced.code, 2);
    assert.match(misplaced.err, /--cwd is for MCP servers/);
  });

  it("add nothing that was not approved, and run nothing of it", async () => {
    await using line = await SampleCommandLine.create(OPEN);
    const ran = join(line.home.project, "ran");
    const program = join(line.home.project, "program");
    await line.home.write(program, `#!/bin/sh\ntouch ${ran}\necho '{ "id": "tools.sh" }'\n`);
    chmodSync(program, 0o755);
    const unasked = await line.run("plugin", "add", "./program", "--approve");
    assert.match(unasked.err, /it has no trunkline\.plugin\.json, .* only in a sandbox/);
    for (const more of [[], ["--approve"]]) {
      const refused = await line.run("plugin", "add", "./program", "--id", "tools.sh", ...more);
      assert.equal(refused.code, 1);
      assert.match(refused.err, /'tools\.sh' asks for:\n {2}do everything on this machine/);
    }
    assert.deepEqual((await line.home.load()).config.bus.plugins, {});
    assert.equal(existsSync(ran), false);
  });
});

describe("trunkline plugin approve", () => {
  it("asks once about a plugin that was added before anybody was asked", async () => {
    const before = { command: "/opt/orchestra/tools-notes" };
    const config = { bus: { plugins: { "tools.notes": before } } };
    await using line = await SampleCommandLine.create(config);
    const refused = await line.run("plugin", "approve", "tools.notes");
    assert.equal(refused.code, 1);
    assert.match(
      refused.err,
      /do everything .*\n.*\n {2}read and write the documents that plugins share\n.*because it was added before/s,
    );
    const approved = await line.run("plugin", "approve", "tools.notes", "--allow-everything");
    assert.equal(approved.code, 0, approved.err);
    const all = ["*"];
    assert.deepEqual((await line.home.load()).config.bus.plugins["tools.notes"], {
      command: before.command,
      permissions: {
        ...{ everything: true, tools: all, namespace: "/", publish: all, subscribe: all },
        provides: { tools: all, prompts: all, storage: all, ai: all },
      },
    });
  });

  it("asks about what a plugin wants by now, and keeps the documents that it has used", async () => {
    await using line = await SampleCommandLine.create();
    const module = join(line.home.project, "p.mjs");
    const plugins = { "tools.p": { module, env: { A: "1" }, permissions: {} } };
    const bus = { sandbox: "off", plugins };
    await line.home.write(line.home.userFile, JSON.stringify({ bus }));
    await line.home.write(module, "");
    const manifest = {
      id: "tools.p",
      permissions: {},
      provides_storage: ["x"],
      needs_events: ["t"],
    };
    const file = join(line.home.project, "trunkline.plugin.json");
    await line.home.write(file, JSON.stringify(manifest));
    const refused = await line.run("plugin", "approve", "tools.p");
    assert.match(refused.err, /keep the storage 'x'.*documents that plugins share.*topic 't'/s);
    const approved = await line.run("plugin", "approve", "tools.p", "--allow-everything");
    assert.equal(approved.code, 0, approved.err);
    assert.deepEqual(await pinnedIn(line), {
      "tools.p": {
        ...{ module, env: { A: "1" } },
        permissions: {
          ...{ everything: true, namespace: "/", subscribe: ["t"] },
          provides: { ...PROVIDES, storage: ["x"] },
        },
      },
    });
    const held = async (): Promise<boolean> => {
      const [plugin] = busPlan((await line.home.load()).config).plugins;
      assert.ok(plugin?.pin !== undefined);
      return (await pinOf(plugin))?.sha256 !== plugin.pin.sha256;
    };
    await line.home.write(file, JSON.stringify({ ...manifest, version: "2.0.0" }));
    await line.home.write(module, "changed");
    assert.equal(await held(), true);
    assert.equal((await line.run("plugin", "approve", "tools.p", "--allow-everything")).code, 0);
    assert.equal(await held(), false);
    const [{ pin } = {}] = Object.values((await line.home.load()).config.bus.plugins);
    assert.equal(pin?.version, "2.0.0");
    await line.home.write(file, '{ "id": "tools.other" }');
    const other = await line.run("plugin", "approve", "tools.p", "--allow-everything");
    assert.match(
      other.err,
      /Cannot approve plugin 'tools\.p': its manifest is that of 'tools\.other'/,
    );
    const none = await line.run("plugin", "approve", "tools.q");
    assert.match(
      none.err,
      /Cannot approve plugin 'tools\.q': the configuration has none of that id/,
    );
  });
});

// Long: plugins of each kind, three processes each.
import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";

import { defaultConfig } from "../../src/config/config.ts";
import { pluginSandboxStatus } from "../../src/sandbox/open/local-sandbox-status.ts";
import { processesWhere } from "../support/processes.ts";
import { until } from "../support/until.ts";
import { BusHome, OrchestratorProgram } from "../support/bus-home.ts";
import { Program } from "../support/program.ts";

const ROOT = join(import.meta.dirname, "../..");
const BUILT = join(ROOT, "dist/trunkline.js");
const SDK = JSON.stringify(pathToFileURL(join(ROOT, "dist/plugin.mjs")).href);
const SERVER = join(ROOT, "test/support/tools-server.mjs");

const { state } = await pluginSandboxStatus(defaultConfig("/nowhere"));
const isLimited = state === "ok";

const SHARED = `
import { readFileSync } from "node:fs";
import { definePlugin } from SDK;
const { NAME = "four" } = process.env;
const NEEDS = { three: ["*"], four: ["*"] };
definePlugin({
  id: "tools." + NAME,
  version: "1.0.0",
  needs: { tools: NEEDS[NAME] ?? [] },
  tools: {
    ["who_" + NAME]: { description: "Who it is", call: () => NAME + " " + process.pid },
    ["ask_" + NAME]: {
      description: "Calls another tool",
      call: async ({ tool }, { callTool }) =>
        callTool(tool).then(({ text }) => text, ({ message }) => message),
    },
    ["peek_" + NAME]: {
      description: "Reads a file",
      call: () => { try { return readFileSync("/etc/passwd", "utf8"); } catch (error) { return error.code; } },
    },
  },
});
`;

describe("an MCP server as a plugin", { timeout: 600_000 }, () => {
  /** It is wrapped as another orchestrator would do it. */
  const wrapped = (home: BusHome, tools: string) => {
    const server = [process.execPath, SERVER, tools, home.record];
    const args = [BUILT, "plugin", "wrap", "--id", "mcp.hello", "--", ...server];
    return { id: "mcp.hello", binary: process.execPath, args };
  };

  it("takes one line, and its tools are those of the server", async () => {
    await using home = new BusHome();
    const tools = join(home.path, "tools.json");
    writeFileSync(tools, JSON.stringify([{ name: "hello", description: "Says hello" }]));
    const orchestrator = await home.orchestrator([wrapped(home, tools)]);
    await orchestrator.logged("plugin.up");
    await using bridge = home.bridge(orchestrator.addr);
    const { result } = await bridge.ask("tools/list");
    assert.ok(
      result?.tools?.some(({ name }) => name === "hello"),
      bridge.program.stderr,
    );
    const called = await bridge.call("hello", { to: "Ada" });
    assert.equal(called.result?.content?.[0]?.text, '{"to":"Ada"}');
    assert.deepEqual(home.recorded(), ["hello"]);
  });

  it("offers what the server offers by now", async () => {
    await using home = new BusHome();
    const tools = join(home.path, "tools.json");
    writeFileSync(tools, JSON.stringify([{ name: "add_tool" }]));
    const orchestrator = await home.orchestrator([wrapped(home, tools)]);
    await orchestrator.logged("plugin.up");
    await using bridge = home.bridge(orchestrator.addr);
    await bridge.call("add_tool", { name: "later" });
    const called = async (): Promise<string | undefined> => {
      const { result } = await bridge.call("later", { to: "Ada" });
      return result?.content?.[0]?.text;
    };
    await until(async () => (await called()) === '{"to":"Ada"}');
  });

  it("says why a server cannot be a plugin", async () => {
    await using home = new BusHome();
    const given = ["--data", home.data, "--", process.execPath, "--version"];
    await using program = new Program(["plugin", "wrap", ...given, "--manifest"]);
    program.child.stdin.end();
    assert.equal(await program.exit, 1);
    assert.match(program.stderr, /Cannot use '\S+' as an MCP server: /);
  });
});

describe("trunkline plugin add", { timeout: 600_000 }, () => {
  it("adds what can do everything only for somebody who types its name", async () => {
    await using home = new BusHome();
    const file = join(home.path, "program");
    writeFileSync(file, `#!/bin/sh\ntouch ${join(home.path, "ran")}\n`, { mode: 0o755 });
    const config = join(home.path, "config.json");
    writeFileSync(config, "{}");
    const add = ["plugin", "add", file, "--id", "tools.sh", "--config", config];
    const within = ["sh", "-c", 'exec script -qec "exec $*" /dev/null', "sh"];
    for (const [typed, code] of [
      ["y", 1],
      ["tools.sh", 0],
    ] as const) {
      await using program = new Program([...add, "--data", home.data], { within });
      let shown = "";
      const isAsked = Promise.withResolvers<void>();
      program.child.stdout.on("data", (text: string) => {
        shown += text;
        if (shown.includes("Type its name, tools.sh")) isAsked.resolve();
      });
      await Promise.race([isAsked.promise, program.exit]);
      program.child.stdin.write(`${typed}\r`);
      assert.equal(await program.exit, code, shown);
      assert.match(shown, /do everything on this machine that you can do/);
      const { bus } = JSON.parse(readFileSync(config, "utf8")) as { bus?: unknown };
      assert.equal(bus === undefined, code === 1);
    }
    assert.equal(existsSync(join(home.path, "ran")), false);
  });
});

describe("trunkline plugin dev", { timeout: 600_000 }, () => {
  it("prints what a plugin says, starts it again when it is changed, and can be called", async () => {
    await using home = new BusHome();
    const folder = join(home.path, "plugin");
    mkdirSync(folder);
    mkdirSync(join(folder, "node_modules"));
    symlinkSync(ROOT, join(folder, "node_modules/trunkline"));
    writeFileSync(join(folder, "package.json"), "{}");
    const write = (word: string): void => {
      const tools = `{ word: { description: "Says a word", call: () => "${word}" } }`;
      const boot = `() => console.log("${word} begins")`;
      const plugin = `{ id: "tools.dev", version: "1.0.0", boot: ${boot}, tools: ${tools} }`;
      const text = `import { definePlugin } from "trunkline/plugin";\ndefinePlugin(${plugin});\n`;
      writeFileSync(join(folder, "plugin.mjs"), text);
    };
    write("first");
    const file = join(folder, "plugin.mjs");
    const how = isLimited ? [] : ["--id", "tools.dev", "--allow-everything"];
    await using program = new Program(["plugin", "dev", file, ...how, "--data", home.data]);
    for (const [at, word] of ["first", "second"].entries()) {
      await program.until(({ lines }) => {
        const starts = lines.filter((line) => line === "tools.dev | up, with 1 tool").length;
        return starts > at && lines.includes(`tools.dev | ${word} begins`);
      });
      const { code, out, err } = await home.runInProcess("plugin", "call", "word");
      assert.deepEqual([code, out], [0, word], err);
      if (word === "first") write("second");
    }
    assert.ok(program.lines.includes("tools.dev | changed: it is started again"));
    const may = isLimited ? /nothing outside its package/ : /do everything on this machine/;
    assert.match(program.lines[0] ?? "", may);
    program.child.kill("SIGINT");
    assert.equal(await program.exit, 0, program.stderr);
  });
});

describe("plugins that are modules", { timeout: 600_000 }, () => {
  it("have processes, certificates and rights of their own, and come back when they are killed", async () => {
    await using home = new BusHome();
    const file = join(home.path, "shared.mjs");
    writeFileSync(file, SHARED.replace("SDK", SDK));
    const module = (name: string) => ({ module: file, env: { NAME: name } });
    const permissions = { read: [join(ROOT, "dist")] };
    const plugins = {
      "tools.one": module("one"),
      "tools.two": module("two"),
      "tools.three": { ...module("three"), permissions },
    };
    const config = join(home.path, "config.json");
    const bus = { sandbox: isLimited ? "auto" : "off", plugins };
    writeFileSync(config, JSON.stringify({ bus }));
    // It says less while it is added than when it runs.
    const manifest = { id: "tools.four", needs_tools: ["who_one"] };
    writeFileSync(join(home.path, "trunkline.plugin.json"), JSON.stringify(manifest));
    const add = ["plugin", "add", file, "--env", "NAME=four", "--config", config];
    const refused = await home.runInProcess(...add);
    assert.equal(refused.code, 1);
    assert.match(refused.err, /'tools\.four' asks for:\n(?:.*\n)? {2}call the tool 'who_one'\n/);
    assert.deepEqual(JSON.parse(readFileSync(config, "utf8")), { bus });
    const added = await home.runInProcess(...add, "--allow-everything");
    assert.equal(added.code, 0, added.err);
    const args = ["--config", config, "--data", home.data, "--listen", "localhost:0"];
    await using orchestrator = new OrchestratorProgram(
      home,
      new Program(["orchestrator", "--json", ...args]),
    );
    await orchestrator.logged("plugin.up", 4);
    const call = async (name: string, tool = "who_one"): Promise<string> =>
      (await home.runInProcess("plugin", "call", name, "--args", JSON.stringify({ tool }))).out;
    const [one, two] = [await call("who_one"), await call("who_two")];
    const [pid, other] = [one.split(" ")[1], two.split(" ")[1]];
    assert.deepEqual([one, two], [`one ${pid}`, `two ${other}`]);
    assert.notEqual(pid, other);
    // Its certificate says who it is: it may call its own tools, and not the other's.
    assert.equal(await call("ask_one"), `one ${pid}`);
    assert.match(await call("ask_two"), /'tools\.two' may not call 'who_one'/);
    // Its manifest asks for every tool, and nobody has approved that.
    assert.match(await call("ask_three"), /'tools\.three' may not call 'who_one'/);
    // The fourth may do everything on the machine. On the bus it may call what was approved, and no more.
    assert.equal(await call("ask_four"), `one ${pid}`);
    assert.match(await call("ask_four", "who_two"), /nobody has approved that/);
    // A sandbox has users of its own.
    assert.match(await call("peek_three"), isLimited ? /^plugin:/m : /^root:/);
    assert.match(await call("peek_one"), /^root:/);
    process.kill(Number(pid), "SIGKILL");
    await orchestrator.logged("plugin.up", 5);
    assert.match(await call("who_one"), /^one \d+$/);
    assert.equal(await call("who_two"), `two ${other}`);

    // The one with permissions has a network of its own, where this machine can make one.
    const { plugins: states } = JSON.parse(
      (await home.runInProcess("plugin", "list", "--json")).out,
    ) as {
      plugins: { id: string; hosts?: string[] }[];
    };
    const limited = states.filter(({ hosts }) => hosts !== undefined).map(({ id }) => id);
    assert.deepEqual(limited, isLimited ? ["tools.three"] : []);
    const ours = () => processesWhere(({ command }) => command.includes(home.path));
    assert.ok(ours().length >= 2, "the orchestrator, and the process of tools.three");
    await orchestrator.kill();
    await until(() => ours().length === 0);
  });
});

/** An MCP server, by hand, that reads files. */
const READER = `
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
const read = ({ path }) => { try { return readFileSync(path, "utf8"); } catch ({ code }) { return code; } };
const answers = {
  initialize: ({ protocolVersion }) =>
    ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "reader", version: "1" } }),
  "tools/list": () => ({ tools: [{ name: process.env.TOOL, inputSchema: { type: "object" } }] }),
  "tools/call": ({ arguments: args }) => ({ content: [{ type: "text", text: read(args) }] }),
};
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) continue;
  const result = answers[method]?.(params ?? {});
  const error = { code: -32601, message: "no such method" };
  console.log(JSON.stringify({ jsonrpc: "2.0", id, ...(result ? { result } : { error }) }));
}
`;

describe("an MCP server with permissions", { timeout: 600_000 }, () => {
  it("runs in the sandbox, in its folder, and is held once it has changed", async (t) => {
    if (!isLimited) return t.skip("No sandbox can be had here");
    await using home = new BusHome();
    const folder = join(home.path, "server");
    mkdirSync(folder);
    const secret = join(home.path, "secret");
    writeFileSync(secret, "secret");
    writeFileSync(join(folder, "package.json"), '{ "name": "reader" }');
    writeFileSync(join(folder, "server.mjs"), READER);
    const config = join(home.path, "config.jsonc");
    const mcp = [process.execPath, "server.mjs"];
    const provides = { tools: ["*"] };
    const one = (id: string, permissions: object) => {
      return {
        mcp,
        cwd: folder,
        env: { TOOL: id },
        permissions: { namespace: id, provides, ...permissions },
      };
    };
    const plugins = { closed: one("closed", {}), open: one("open", { everything: true }) };
    writeFileSync(config, JSON.stringify({ bus: { plugins } }));
    const approve = ["plugin", "approve", "closed", "--approve", "--config", config];
    assert.equal((await home.runInProcess(...approve)).code, 0);
    const args = ["--config", config, "--data", home.data, "--listen", "localhost:0"];
    await using orchestrator = new OrchestratorProgram(
      home,
      new Program(["orchestrator", "--json", ...args]),
    );
    await orchestrator.logged("plugin.up", 2);
    const read = async (tool: string, path: string): Promise<string> => {
      const given = ["--args", JSON.stringify({ path })];
      return (await home.runInProcess("plugin", "call", tool, ...given)).out.trim();
    };
    assert.deepEqual(
      [await read("closed", secret), await read("open", secret)],
      ["ENOENT", "secret"],
    );
    assert.match(await read("closed", "package.json"), /"reader"/);
    const { out } = await home.runInProcess("plugin", "list");
    assert.match(out, /^closed .* yes +none/m);
    assert.match(out, /^open .* no +any/m);
    writeFileSync(join(folder, "server.mjs"), `${READER}// changed`);
    await home.runInProcess("plugin", "restart", "closed");
    assert.match(
      (await home.runInProcess("plugin", "list")).out,
      /^closed +held .*plugin approve closed/m,
    );
    assert.equal((await home.runInProcess(...approve)).code, 0);
    await orchestrator.logged("plugin.up", 3);
    await orchestrator.kill();
  });
});

describe("plugin test", { timeout: 600_000 }, () => {
  const moments = {
    "it waits for the plugin": ["console.error('begun'); setInterval(() => {}, 1_000);", /begun/],
    "it checks a rule": [SHARED.replace("SDK", SDK), /passed/],
  } as const;
  for (const [moment, [program, said]] of Object.entries(moments)) {
    it(`ends the plugin and removes what it has made when it is interrupted while ${moment}`, async () => {
      await using home = new BusHome();
      const file = join(home.path, "plugin.mjs");
      const temporary = join(home.path, "tmp");
      mkdirSync(temporary);
      writeFileSync(file, program);
      const args = ["plugin", "test", file, "--verbose", "--data", home.data];
      await using testing = new Program(args, { env: { TMPDIR: temporary } });
      await testing.until(({ stderr, lines }) => said.test(`${stderr}${lines.join("")}`));
      testing.child.kill("SIGINT");
      assert.equal(await testing.exit, 1);
      assert.match(testing.stderr, /The test was ended by SIGINT/);
      assert.deepEqual(readdirSync(temporary), []);
      assert.deepEqual(
        processesWhere(({ command }) => command.includes(file)),
        [],
      );
    });
  }
});

import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { type Bridge, BusHome, type OrchestratorProgram, type Reply } from "../support/bus-home.ts";

const textOf = ({ result }: Reply): string => result?.content?.[0]?.text ?? "";

async function attack(
  bridge: Bridge,
  order: object,
  tool = "attack",
): Promise<Record<string, unknown>> {
  const reply = await bridge.call(tool, order);
  return JSON.parse(textOf(reply)) as Record<string, unknown>;
}

/** What a plugin that calls a tool is answered. */
async function called(bridge: Bridge, order: object): Promise<Record<string, unknown>> {
  const { toolCall, error } = await attack(bridge, { act: "call", ...order });
  assert.equal(error, undefined);
  return (toolCall ?? {}) as Record<string, unknown>;
}

describe("a plugin on the bus", { timeout: 600_000 }, () => {
  let home: BusHome;
  let orchestrator: OrchestratorProgram;
  let bridge: Bridge;
  before(async () => {
    home = new BusHome();
    const granted = { ...home.roguePlugin("granted"), needs_tools: ["create_project"] };
    const own = home.roguePlugin("own", { BUS_ROGUE: "own-authority" });
    orchestrator = await home.orchestrator([home.testPlugin(), home.roguePlugin(), granted, own]);
    await orchestrator.logged("plugin.up", 4);
    bridge = home.bridge(orchestrator.addr);
  });
  after(async () => {
    await bridge[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });

  it("gets a folder with its own certificates, and without the authority's key", async () => {
    assert.ok(existsSync(join(home.certs, "ca.key")));
    const { path, mode, files, modes } = await attack(bridge, { act: "look" });
    assert.deepEqual(files, [
      "ca.crt",
      "rogue-client.crt",
      "rogue-client.key",
      "rogue.crt",
      "rogue.key",
    ]);
    assert.equal(mode, "700");
    assert.deepEqual([...new Set(modes as string[])], ["600"]);
    assert.ok(!String(path).startsWith(home.certs), String(path));
  });

  it("cannot use another's name", async () => {
    for (const name of ["transport.stdio-client", "trunkline-control", "tools.test-client"]) {
      const { error } = await attack(bridge, { act: "call", name, tool: "echo" });
      assert.match(String(error), /ENOENT.*ca\.key/, name);
    }
  });

  // With both of its certificates.
  for (const name of ["rogue-client", "rogue"]) {
    it(`cannot call tools of others even if it has not registered (${name})`, async () => {
      const {
        success = false,
        errorCode,
        errorMessage,
      } = await called(bridge, { name, tool: "echo" });
      assert.deepEqual([success, errorCode], [false, "untrusted"]);
      assert.match(String(errorMessage), /'rogue' may not call 'echo'.*needs_tools/);
    });
  }

  it("sees only the tools that it may call", async () => {
    const { listTools } = await attack(bridge, { act: "list" });
    const { tools } = listTools as { tools: { name: string }[] };
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["attack"],
    );
  });

  it("can call its own tools, and those that the configuration allows", async () => {
    assert.equal((await called(bridge, { tool: "attack" })).success, true);
    const reply = await bridge.call("granted_attack", { act: "call", tool: "create_project" });
    assert.match(textOf(reply), /'name' is required|must have required property 'name'|validation/);
    const other = await bridge.call("granted_attack", { act: "call", tool: "echo" });
    assert.match(textOf(other), /may not call 'echo'/);
  });

  it("cannot call the control tools", async () => {
    const { errorCode } = await called(bridge, { tool: "trunkline.plugins.restart" });
    assert.equal(errorCode, "untrusted");
  });

  it("cannot call another plugin without the orchestrator", async () => {
    const { out } = await orchestrator.plugin("list", "--json");
    const { plugins } = JSON.parse(out) as { plugins: { id: string; address: string }[] };
    const address = plugins.find(({ id }) => id === "tools.test")?.address ?? "";
    const found = await attack(bridge, { act: "call", address, tool: "note" });
    // It is hung up on, when exactly depends on how fast both are.
    assert.equal(typeof found.error, "string", JSON.stringify(found));
    assert.deepEqual(home.recorded(), []);
    assert.equal(textOf(await bridge.call("echo", { text: "well" })), "well");
  });

  it("is not accepted as an orchestrator", async () => {
    const { out } = await orchestrator.plugin("list", "--json");
    const { plugins } = JSON.parse(out) as { plugins: { id: string; address: string }[] };
    const address = plugins.find(({ id }) => id === "rogue")?.address ?? "";
    const where = ["--orchestrator-addr", address, "--certs-dir", home.certs];
    const { code, err } = await home.run("plugin", "call", "attack", ...where);
    assert.equal(code, 1);
    assert.match(err, /plugin 'rogue' serves there, not an orchestrator/);
  });

  it("gains nothing by an authority of its own, which it makes where it finds no key", async () => {
    const order = { act: "call", name: "trunkline-control", tool: "own_attack" };
    // What it found is no key of the authority: it still cannot make certificates that are good.
    assert.match(String((await attack(bridge, order, "own_attack")).error), /certificate/);
    const allowed = await attack(bridge, { act: "call", tool: "own_attack" }, "own_attack");
    assert.equal((allowed.toolCall as { success?: unknown }).success, true);
  });
});

describe("the folders of plugins", { timeout: 600_000 }, () => {
  const left = (home: BusHome): string[] =>
    readdirSync(join(home.data, "bus")).filter((name) => name !== "lock");

  it("are removed with the bus, and those of a killed bus by the next one", async () => {
    await using home = new BusHome();
    const killed = await home.orchestrator([home.roguePlugin()]);
    await killed.logged("plugin.up");
    assert.equal(left(home).length, 1);
    const [abandoned = ""] = left(home);
    await killed.kill();
    assert.deepEqual(left(home), [abandoned]);

    const next = await home.orchestrator([home.roguePlugin()]);
    await next.logged("plugin.up");
    assert.equal(left(home).length, 1);
    assert.ok(!left(home).includes(abandoned));
    await next.stop();
    assert.deepEqual(left(home), []);
  });
});

it("a plugin cannot have the id of another program of the bus", { timeout: 600_000 }, async () => {
  await using home = new BusHome();
  const config = home.write(home.testPlugin("transport.stdio"));
  const where = ["--listen", "localhost:0", "--certs-dir", home.certs];
  const { code, err } = await home.run("orchestrator", "--config", config, ...where);
  assert.equal(code, 1);
  assert.match(err, /Cannot have a plugin 'transport\.stdio'.*Rename it/);
});

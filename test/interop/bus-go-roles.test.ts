import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { before, describe, it } from "node:test";

import { BusHome, type OrchestratorProgram, type PluginEntry } from "../support/bus-home.ts";
import { Program } from "../support/program.ts";
import { quicPeer } from "./quic-go/peer.ts";
import { type PeerLine, PeerProcess } from "./quic-go/peer-process.ts";

type Answer = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
type Answered = readonly { readonly response: Answer }[];

const VALUE = { text: "héllo ☃", n: -1.5e300, nothing: null, deep: [{ a: [] }, true], zero: 0 };

function isAlive(pid: unknown): boolean {
  try {
    return process.kill(Number(pid), 0);
  } catch {
    return false;
  }
}

function answerOf(line: PeerLine | undefined): Answer {
  assert.ok(line !== undefined, "there was no answer");
  return line.response as Answer;
}

/** The peer as a plugin. */
async function goPlugin(...flags: string[]): Promise<PluginEntry> {
  return {
    id: "quic.peer",
    binary: await quicPeer(),
    args: ["plugin", "--id=quic.peer", "--exit-on-shutdown", ...flags],
    config: { colour: "green", size: "12" },
  };
}

/** Runs an action of the peer's client to its good end. */
async function act(home: BusHome, addr: string, ...args: string[]): Promise<readonly PeerLine[]> {
  const where = [`--addr=${addr}`, `--certs-dir=${home.certs}`];
  const { code, lines, stderr } = await PeerProcess.run(["client", ...where, ...args]);
  assert.equal(code, 0, `${args.join(" ")}: ${stderr}${JSON.stringify(lines)}`);
  return lines;
}

/** Checks a plugin or an orchestrator by all rules that there are. */
async function check(home: BusHome, ...subject: string[]) {
  const args = '--args={"text":"x","chunks":3}';
  const calls = ["--tool=echo", "--stream=count", args, "--timeout=60"];
  const given = ["--json", "--data", home.data, ...calls, ...subject];
  await using program = new Program(["plugin", "test", ...given]);
  program.child.stdin.end();
  await program.exit;
  const out = program.lines.join("\n");
  assert.notEqual(out, "", program.stderr);
  const { rules } = JSON.parse(out) as { rules: { rule: string; outcome: string; why: string }[] };
  const wrong = rules.filter(({ outcome }) => outcome === "failed").map(({ rule }) => rule);
  const passed = rules.filter(({ outcome }) => outcome === "passed").length;
  return { wrong, passed, out };
}

describe("trunkline orchestrator with a plugin and a client in Go", { timeout: 120_000 }, () => {
  before(() => quicPeer());

  async function start(home: BusHome): Promise<OrchestratorProgram> {
    const orchestrator = await home.orchestrator([await goPlugin()]);
    await orchestrator.logged("plugin.up");
    return orchestrator;
  }

  /** Calls a tool, and gives what it answered. */
  async function call(home: BusHome, addr: string, tool: string, args: object = {}) {
    const flags = [`--tool=${tool}`, `--arguments=${JSON.stringify(args)}`];
    const [line] = await act(home, addr, ...flags, "call");
    const last = line?.last as Answer | undefined;
    assert.ok(last?.toolCall !== undefined, JSON.stringify(line));
    return last.toolCall as {
      success: boolean;
      result: Record<string, unknown>;
      errorCode: string;
    };
  }

  it("forwards tool calls: values, failures, sizes, and the caller", async () => {
    await using home = new BusHome();
    const { addr } = await start(home);
    const [listed] = (await act(home, addr, "list-tools")) as Answered;
    const tools = listed?.response.listTools?.tools as { name: string }[];
    assert.ok(tools.length >= 14 && tools.some(({ name }) => name === "echo"));
    assert.deepEqual((await call(home, addr, "echo", VALUE)).result, VALUE);
    const failed = await call(home, addr, "fail", { code: "odd_code", message: "odd words" });
    assert.deepEqual([failed.success, failed.errorCode], [false, "odd_code"]);
    const big = await call(home, addr, "big", { bytes: 8 * 1024 * 1024 });
    assert.equal(String(big.result.text).length, 8 * 1024 * 1024);
    const { result } = await call(home, addr, "inspect");
    assert.deepEqual(result.config, { colour: "green", size: "12" });
    assert.equal(result.peer, "orchestrator-to-quic.peer");
    assert.equal(result.caller_plugin, "transport.stdio");
    const missing = await call(home, addr, "no_such_tool");
    assert.deepEqual([missing.success, missing.errorCode], [false, "tool_not_found"]);
  });

  it("is checked by `plugin test`, which finds what the peer leaves out", async () => {
    await using home = new BusHome();
    const { binary, args = [] } = await goPlugin();
    const { wrong, passed, out } = await check(home, "--", binary, ...args);
    // The peer takes any arguments, has any prompt, and needs no certificate of a client: the rules find that.
    assert.deepEqual(wrong, ["prompts.unknown", "tools.arguments", "tls.certificate"], out);
    assert.ok(passed >= 30, out);
  });

  it("forwards prompts, streams, storage and events", async () => {
    await using home = new BusHome();
    const { addr } = await start(home);
    const [prompt] = await act(home, addr, '--arguments={"name":"Ada"}', "prompt");
    assert.match(JSON.stringify(prompt), /Say hello to Ada\./);

    const counted = '--arguments={"chunks":50,"bytes":9999}';
    const [streamed] = await act(home, addr, "--tool=count", counted, "stream");
    const { streamEnd } = answerOf(streamed);
    assert.deepEqual([streamed?.chunks, streamed?.inOrder], [50, true]);
    assert.deepEqual([streamEnd?.success, streamEnd?.totalChunks], [true, "50"]);
    const [cancelled] = await act(home, addr, "--tool=endless", "--cancel-after=3", "stream");
    assert.equal(answerOf(cancelled).streamEnd?.success, false);
    const [broken] = await act(home, addr, "--tool=broken", "stream");
    assert.equal(answerOf(broken).streamEnd?.success, false);

    mkdirSync(join(home.data, "workspace"), { recursive: true });
    // Of the plugin, and of our own.
    for (const type of ["memory", "markdown"]) {
      const answers = (await act(home, addr, `--storage-type=${type}`, "storage")) as Answered;
      const writes = answers
        .map(({ response }) => response.storageWrite)
        .filter((write) => write !== undefined);
      assert.deepEqual(
        writes.map(({ success, newVersion }) => [success, newVersion]),
        [
          [true, "1"],
          [true, "2"],
          [false, "0"],
        ],
        type,
      );
      assert.match(String(writes[2]?.error), /version/, type);
      assert.equal(answers.at(-1)?.response.storageRead?.version, "0", type);
    }
    const events = await act(home, addr, "events");
    assert.equal(events.filter(({ event }) => event === "delivered").length, 1);
    assert.equal(events.at(-1)?.event, "unsubscribed");
  });

  it("delivers events to a plugin's own server, and accepts those that it publishes", async () => {
    await using home = new BusHome();
    const { addr } = await start(home);
    const subscribe = { subscriptionId: "s", topic: "news", filters: { kind: "wanted" } };
    await call(home, addr, "forward", { request: { subscribe } });
    const publish = (kind: string) => ({ topic: "news", eventType: "test", payload: { kind } });
    await call(home, addr, "forward", { request: { publish: publish("unwanted") } });
    await call(home, addr, "forward", { request: { publish: publish("wanted") } });
    let events: unknown[] = [];
    while (events.length === 0) {
      events = ((await call(home, addr, "received")).result.events ?? []) as unknown[];
    }
    assert.deepEqual(events, [
      {
        topic: "news",
        event_type: "test",
        source_plugin: "quic.peer",
        payload: { kind: "wanted" },
      },
    ]);
  });

  it("makes 10,000 calls, 32 at once, and ends its plugin with a Shutdown", async (t) => {
    await using home = new BusHome();
    const orchestrator = await start(home);
    const { pid } = (await call(home, orchestrator.addr, "inspect")).result;
    const many = ["--calls=10000", "--concurrency=32", `--arguments=${JSON.stringify(VALUE)}`];
    const [line] = await act(home, orchestrator.addr, ...many, "call");
    assert.deepEqual([line?.calls, line?.errors, line?.failures], [10_000, 0, {}]);
    t.diagnostic(`${Math.round(10_000 / (Number(line?.ms) / 1_000))} calls/s`);
    assert.equal(isAlive(pid), true);
    await orchestrator.stop();
    assert.equal(isAlive(pid), false);
    assert.doesNotMatch(orchestrator.program.stderr, /plugin\.no-clean-end/);
  });

  it("serves a plugin of another vendor on the bridge like its own", async () => {
    await using home = new BusHome();
    const orchestrator = await home.orchestrator([await goPlugin(), home.testPlugin()]);
    await orchestrator.logged("plugin.up", 2);
    await using bridge = home.bridge(orchestrator.addr);
    const { result: list } = await bridge.ask("tools/list");
    const names = list?.tools?.map(({ name }) => name) ?? [];
    assert.ok(names.includes("inspect") && names.includes("create_project"));
    // Two have an `echo`: both can be called.
    const echoes = names.filter((name) => name.includes("echo"));
    assert.equal(echoes.length, 2, names.join());
    for (const name of echoes) {
      const { result } = await bridge.call(name, { text: "of both" });
      assert.equal(result?.content?.[0]?.text, "of both");
    }
    const { result: other } = await bridge.call("ask_other", { tool: "inspect" });
    assert.match(other?.content?.[0]?.text ?? "", /"caller_plugin":"tools\.test"/);
  });
});

describe("an orchestrator in Go", { timeout: 120_000 }, () => {
  before(() => quicPeer());

  async function serve(home: BusHome, ...plugins: PluginEntry[]): Promise<PeerProcess> {
    const flags = plugins.map((plugin) => `--plugin=${JSON.stringify(plugin)}`);
    return PeerProcess.serve("orchestrator", `--certs-dir=${home.certs}`, ...flags);
  }

  it("serves our bridge", async () => {
    await using home = new BusHome();
    await using orchestrator = await serve(home, await goPlugin());
    await using bridge = home.bridge(orchestrator.addr);
    await bridge.connected();
    const { result: list } = await bridge.ask("tools/list");
    assert.ok(list?.tools?.some(({ name }) => name === "echo"));
    const { result } = await bridge.call("echo", VALUE);
    assert.equal(result?.content?.[0]?.text, VALUE.text);
    const { result: failed } = await bridge.call("fail");
    assert.equal(failed?.isError, true);
    assert.equal(failed.content?.[0]?.text, "tool error: validation_error");
    const { result: prompt } = await bridge.ask("prompts/get", {
      name: "greet",
      arguments: { name: "Ada" },
    });
    assert.match(JSON.stringify(prompt), /Say hello to Ada\./);
    const calls = Array.from({ length: 500 }, (_, number) =>
      bridge.call("echo", { text: `${number}` }),
    );
    for (const [number, { result: one }] of (await Promise.all(calls)).entries()) {
      assert.equal(one?.content?.[0]?.text, `${number}`);
    }
  });

  it("is checked by `plugin test`, which finds what it leaves out", async () => {
    await using home = new BusHome();
    const plugin = { ...(await goPlugin()), provides_storage: ["markdown"] };
    await using orchestrator = await serve(home, plugin);
    const where = [`--addr=${orchestrator.addr}`, `--certs-dir=${home.certs}`];
    const { wrong, passed, out } = await check(home, ...where);
    // It leaves arguments to its plugin, which takes any.
    assert.deepEqual(wrong, ["tools.arguments"], out);
    assert.ok(passed >= 20, out);
  });

  it("serves our bridge with the original's defect, for more calls than it has streams", async () => {
    await using home = new BusHome();
    const flags = [`--certs-dir=${home.certs}`, "--original-defect"];
    const plugin = `--plugin=${JSON.stringify(await goPlugin())}`;
    await using orchestrator = await PeerProcess.serve("orchestrator", ...flags, plugin);
    await using bridge = home.bridge(orchestrator.addr);
    for (let round = 0; round < 20; round++) {
      const args = { text: "x".repeat(round * 1_000) };
      const calls = Array.from({ length: 50 }, () => bridge.call("echo", args));
      for (const { result } of await Promise.all(calls)) {
        assert.equal(result?.content?.[0]?.text, args.text);
      }
    }
    await bridge.end();
    const { streams, unfinished } = await orchestrator.stop();
    assert.ok(Number(streams) >= 1_000);
    assert.equal(unfinished, 0);
  });

  it("runs a plugin made with our SDK", async () => {
    await using home = new BusHome();
    const plugin = { ...home.testPlugin(), provides_storage: [] };
    const storage = { ...(await goPlugin("--storage=markdown")), provides_storage: ["markdown"] };
    await using orchestrator = await serve(home, storage, plugin);
    assert.equal((await orchestrator.line("registered")).peer, "quic.peer-client");
    const started = orchestrator.lines.find(
      ({ event, id }) => event === "plugin" && id === plugin.id,
    );
    assert.equal(started?.health, "STATUS_HEALTHY");
    assert.deepEqual(started?.prompts, ["greet"]);
    const ask = async (tool: string, args: object) => {
      const flags = [`--tool=${tool}`, `--arguments=${JSON.stringify(args)}`];
      const [line] = await act(home, orchestrator.addr, ...flags, "call");
      return (line?.last as Answer | undefined)?.toolCall;
    };
    const made = await ask("create_project", { name: "My App" });
    assert.deepEqual(made?.result, { text: "Created project: My App (slug: my-app)" });
    assert.equal((await ask("fail", {}))?.errorCode, "validation_error");
    const remembered = (await ask("remember", {}))?.result as Record<string, unknown>;
    assert.deepEqual([remembered.first, remembered.second, remembered.read], [1, 2, "second"]);
    assert.match(String(remembered.stale), /version/);
    const other = (await ask("ask_other", { tool: "inspect" }))?.result as Record<string, unknown>;
    assert.match(String(other.text), /tools\.test/);
    const [streamed] = await act(home, orchestrator.addr, "--tool=count", "stream");
    assert.deepEqual([streamed?.chunks, streamed?.inOrder], [3, true]);
    for (const kind of ["unwanted", "wanted"]) await ask("announce", { kind });
    while (home.recorded().length === 0) await ask("announce", { kind: "unwanted" });
    assert.deepEqual(home.recorded(), ["test wanted"]);
    await orchestrator.stop();
    const stopped = orchestrator.lines.filter(({ event }) => event === "stopped");
    assert.deepEqual(
      stopped.map(({ clean }) => clean),
      [true, true],
    );
  });
});

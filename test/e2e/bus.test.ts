// Long: an orchestrator, its plugins and many clients.
import assert from "node:assert/strict";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { rounds } from "../support/full-run.ts";
import { covers } from "../support/requirement.ts";
import { until } from "../support/until.ts";
import { Bridge, BusHome, type OrchestratorProgram, type Reply } from "../support/bus-home.ts";
import { Program } from "../support/program.ts";

const M = "io.modelcontextprotocol/";
const LATEST = { [`${M}protocolVersion`]: "2026-07-28", [`${M}clientCapabilities`]: {} };
const SESSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const CLIENT = { name: "stranger", version: "1" };
const CREATE = { name: "create_project", arguments: { name: "My App" } };
const CREATED = { type: "text", text: "Created project: My App (slug: my-app)" };

/** What the bridge's document shows, line for line: what is sent, and what is answered. */
const EXCHANGES: readonly (readonly [sent: string, answered?: string])[] = [
  [
    '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05"}}',
    '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2024-11-05","capabilities":{"tools":{}},"serverInfo":{"name":"orchestra","version":"1.0.0"}}}',
  ],
  [
    '{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"create_project","arguments":{"name":"My App"}}}',
    '{"jsonrpc":"2.0","id":3,"result":{"content":[{"type":"text","text":"Created project: My App (slug: my-app)"}]}}',
  ],
  [
    '{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"fail","arguments":{}}}',
    '{"jsonrpc":"2.0","id":4,"result":{"content":[{"type":"text","text":"tool error: validation_error"}],"isError":true}}',
  ],
  ['{"jsonrpc":"2.0","method":"notifications/initialized"}'],
  ['{"jsonrpc":"2.0","method":"notifications/of/whatever/kind","params":{"a":1}}'],
  ['{"jsonrpc":"2.0","id":1,"method":"ping"}', '{"jsonrpc":"2.0","id":1,"result":{}}'],
  [
    '{"jsonrpc":"2.0","id":1,"method":"some/unknown"}',
    '{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"method not found: some/unknown"}}',
  ],
];

interface ConformanceReport {
  readonly passed: number;
  readonly failed: number;
  readonly rules: readonly { readonly rule: string; readonly outcome: string }[];
}

describe("a bus", { timeout: 600_000 }, () => {
  let home: BusHome;
  let orchestrator: OrchestratorProgram;
  before(async () => {
    home = new BusHome();
    orchestrator = await home.orchestrator([home.testPlugin()]);
    await orchestrator.logged("plugin.up");
  });
  after(() => home[Symbol.asyncDispose]());

  describe("trunkline mcp --orchestrator-addr", () => {
    /** For those tests that need none of their own. */
    let bridge: Bridge;
    before(() => {
      bridge = home.bridge(orchestrator.addr);
    });
    after(() => bridge[Symbol.asyncDispose]());

    it("keeps the rules that `plugin test` checks, as its plugin does", async () => {
      const [file = ""] = home.testPlugin().args ?? [];
      const calls = ["--tool", "echo", "--stream", "count", "--json", "--timeout=300"];
      const where = ["--addr", orchestrator.addr, "--certs-dir", home.certs];
      const targets = [where, [file]];
      // The plugin by itself only with all rounds: it is checked through its orchestrator.
      for (const target of targets.slice(0, rounds({ few: 1, all: targets.length }))) {
        const { code, out, err } = await home.run("plugin", "test", ...target, ...calls);
        const { failed, passed, rules } = JSON.parse(out) as ConformanceReport;
        const wrong = rules.filter(({ outcome }) => outcome === "failed");
        assert.deepEqual([code, failed, wrong], [0, 0, []], err);
        assert.ok(passed >= 25, out);
      }
    });

    it("says where it is connected to, on stderr only", async () => {
      covers("bus.bridge.pure-client", "bus.flags", "bus.client-certificate");
      covers("bus.confirmation");
      await using bridge = home.bridge(orchestrator.addr);
      await bridge.connected();
      assert.equal(
        bridge.program.stderr,
        `trunkline: connected to orchestrator at ${orchestrator.addr}\n`,
      );
      assert.equal(await bridge.end(), 0);
      assert.deepEqual(bridge.program.lines, []);
    });

    it("makes no authority of its own in a folder that is not the orchestrator's", async () => {
      const missing = join(home.path, "missing");
      await using bridge = home.bridge(orchestrator.addr, "--certs-dir", missing);
      const { error } = await bridge.call("echo");
      assert.match(
        error?.message ?? "",
        /There is no authority in '.*missing': 'ca\.crt' is missing\. .*--certs-dir/,
      );
      assert.equal(existsSync(missing), false);
    });

    it("gives the answers that its document shows", async () => {
      covers("bus.initialize.local", "bus.initialize.answer", "bus.stdin.lines");
      covers("bus.stdout.lines", "bus.ping.answer", "bus.notifications.ignored");
      covers("bus.notifications.silent", "bus.unknown-method");
      covers("bus.error.method-not-found", "bus.tools-call.success");
      covers("bus.tools-call.error");
      await using bridge = home.bridge(orchestrator.addr);
      let answers = 0;
      for (const [sent, answered] of EXCHANGES) {
        bridge.program.write(sent);
        if (answered === undefined) continue;
        await bridge.program.answers(++answers);
        assert.equal(bridge.program.lines.at(-1), answered);
      }
      assert.equal(bridge.program.lines.length, answers);
    });

    it("lists tools with their names, descriptions and schemas", async () => {
      covers("bus.tools-list.request", "bus.tools-list.name");
      covers("bus.tools-list.description", "bus.tools-list.schema");
      const { result } = await bridge.ask("tools/list");
      assert.deepEqual(result?.tools?.[0], {
        name: "create_project",
        description: "Create a new project workspace",
        inputSchema: {
          type: "object",
          properties: { name: { type: "string" } },
          required: ["name"],
        },
      });
    });

    it("answers invalid requests with the codes of its document, and continues", async () => {
      covers("bus.error.parse", "bus.error.invalid-request", "bus.error.invalid-params");
      await using bridge = home.bridge(orchestrator.addr);
      // Blank lines are skipped.
      bridge.program.write("", "  ");
      bridge.program.write('{"jsonrpc":"2.0","id":1,"meth');
      bridge.program.write(
        { jsonrpc: "2.0", id: 2 },
        { jsonrpc: "2.0", id: 3, method: "tools/call" },
        { jsonrpc: "2.0", id: 4, method: "tools/call", params: { name: "" } },
      );
      const answers = (await bridge.program.answers(4)) as readonly unknown[] as readonly Reply[];
      assert.deepEqual(
        answers.map(({ id, error }) => [id, error?.code]),
        [
          [null, -32700],
          [2, -32600],
          [3, -32602],
          [4, -32602],
        ],
      );
      assert.deepEqual((await bridge.ask("ping")).result, {});
    });

    it("passes values on unchanged, and adds a text unless they have one", async () => {
      covers("bus.tools-call.arguments", "bus.tools-call.text", "bus.tools-call.json");
      const value = {
        numbers: [0, -1.5, 1e300, 9007199254740991],
        nothing: null,
        deep: { list: [[], {}, [null, true]], "": "empty" },
        unicode: 'héllo \u2603 \u{1F600} "quoted" \u0000',
      };
      const { result } = await bridge.call("echo", value);
      assert.deepEqual(JSON.parse(result?.content?.[0]?.text ?? ""), value);
      const texts = await bridge.call("echo", { text: "only this", beside: 1 });
      assert.equal(texts.result?.content?.[0]?.text, "only this");
    });

    it("returns the pieces of a streaming tool as one text", async () => {
      const { result } = await bridge.call("count", { pieces: 4 });
      assert.deepEqual(result?.content, [{ type: "text", text: "0\n1\n2\n3\n" }]);
    });

    /** Bridges whose client has begun with a revision. Later tests end each in another way. */
    const begun = new Map<string, Bridge>();
    after(async () => {
      for (const one of begun.values()) await one[Symbol.asyncDispose]();
    });
    async function clientOf(revision: string): Promise<Bridge> {
      const known = begun.get(revision);
      if (known !== undefined) return known;
      const one = home.bridge(orchestrator.addr);
      begun.set(revision, one);
      const params = { protocolVersion: revision, capabilities: {}, clientInfo: CLIENT };
      const { result } = await one.ask("initialize", params);
      assert.equal(result?.protocolVersion, revision);
      assert.deepEqual(result?.serverInfo, { name: "orchestra", version: "1.0.0" });
      one.program.write({ jsonrpc: "2.0", method: "notifications/initialized" });
      return one;
    }

    for (const revision of SESSIONS) {
      it(`serves a client of ${revision}`, async () => {
        const one = await clientOf(revision);
        const { result: list } = await one.ask("tools/list");
        assert.ok(list?.tools?.some(({ name }) => name === "create_project"));
        const { result: called } = await one.ask("tools/call", CREATE);
        assert.deepEqual(called?.content, [CREATED]);
      });
    }

    it("serves a client of 2026-07-28", async () => {
      const found = await bridge.ask("server/discover", { _meta: LATEST });
      assert.match(JSON.stringify(found.result?.supportedVersions), /"2026-07-28"/);
      const { result: list } = await bridge.ask("tools/list", { _meta: LATEST });
      assert.ok(list?.tools?.some(({ name }) => name === "create_project"));
      const { result } = await bridge.ask("tools/call", { ...CREATE, _meta: LATEST });
      assert.deepEqual(result?.content, [CREATED]);
    });

    it("accepts a line of 10 MB, refuses a longer one, and answers the next", async () => {
      covers("bus.line.limit");
      const room = 10 * 1024 * 1024 - 200;
      const { result } = await bridge.call("echo", { text: "x".repeat(room) });
      assert.equal(result?.content?.[0]?.text.length, room);
      const { error } = await bridge.call("echo", { text: "x".repeat(room + 400) });
      assert.equal(error?.code, -32600);
      assert.deepEqual((await bridge.ask("tools/call", CREATE)).result?.content, [CREATED]);
    });

    it("does not delay a fast call for a slow one", async () => {
      const slow = bridge.call("note", { message: "slow", ms: 1_000 });
      const quick = bridge.call("note", { message: "quick" });
      assert.equal(
        await Promise.race([slow.then(() => "slow"), quick.then(() => "quick")]),
        "quick",
      );
      assert.match((await slow).result?.content?.[0]?.text ?? "", /slow$/);
    });

    it("answers what was asked before its input ended", async () => {
      covers("bus.end.eof");
      const bridge = await clientOf("2024-11-05");
      const asked = bridge.call("note", { message: "last words", ms: 300 });
      bridge.program.child.stdin.end();
      assert.match((await asked).result?.content?.[0]?.text ?? "", /last words$/);
      assert.equal(await bridge.program.exit, 0);
    });

    for (const [signal, revision] of [
      ["SIGINT", "2025-06-18"],
      ["SIGTERM", "2025-11-25"],
    ] as const) {
      it(`ends at once with ${signal}, and answers calls in flight`, async () => {
        covers("bus.end.signal");
        const bridge = await clientOf(revision);
        const asked = bridge.call("hang");
        await bridge.connected();
        await bridge.ask("ping");
        bridge.program.child.kill(signal);
        // It has not waited for the minute that a call may take.
        assert.match(JSON.stringify(await asked), /shutting down/);
        assert.equal(await bridge.program.exit, 0);
      });
    }

    it("reports what is wrong with its command line", async () => {
      for (const [args, expected] of [
        [["--certs-dir", home.certs], /Add '--orchestrator-addr'/],
        [["--orchestrator-addr", "nonsense"], /Cannot read the address 'nonsense'/],
      ] as const) {
        const { code, err } = await home.runInProcess("mcp", ...args);
        assert.equal(code, 2, err);
        assert.match(err, expected);
      }
    });
  });

  describe("trunkline plugin", () => {
    it("lists, calls, restarts and shows logs", async () => {
      const up = await orchestrator.logged("plugin.up");
      const listed = await orchestrator.startPlugin("list", "--json");
      const [plugin] = (JSON.parse(listed.out) as { plugins: Record<string, unknown>[] }).plugins;
      assert.deepEqual([plugin?.id, plugin?.state, plugin?.pid], ["tools.test", "up", up.pid]);

      const called = await orchestrator.startPlugin(
        "call",
        "create_project",
        "--args",
        '{"name":"A b"}',
      );
      assert.deepEqual([called.code, called.out], [0, "Created project: A b (slug: a-b)"]);
      const failed = await orchestrator.plugin("call", "fail");
      assert.deepEqual(
        [failed.code, failed.out + failed.err],
        [1, "tool error: validation_error\n"],
      );
      const { out: logs } = await orchestrator.plugin("logs", "tools.test");
      assert.match(logs, /^booted with \{"greeting":"hi"\}$/m);

      // A call that is under way is answered by the plugin that has it.
      const long = JSON.stringify({ message: "drains", ms: 1_500 });
      const draining = orchestrator.plugin("call", "note", "--args", long);
      await until(() => home.recorded().includes("note drains"));
      const restarted = await orchestrator.startPlugin("restart", "tools.test", "--json");
      const { out: drained, err } = await draining;
      assert.equal(drained, `${String(up.pid)} drains`, err);
      const { plugin: again } = JSON.parse(restarted.out) as { plugin: Record<string, unknown> };
      assert.deepEqual([again.state, again.restarts], ["up", 1]);
      assert.notEqual(again.pid, up.pid);
    });

    it("reports an unknown plugin or tool, or a missing orchestrator, as the bridge does", async () => {
      covers("bus.ping.local", "bus.error.internal");
      for (const [args, expected] of [
        [["restart", "tools.tset"], /There is no plugin 'tools\.tset'\. Is it 'tools\.test'\?/],
        [["logs", "x"], /There is no plugin 'x'\. There are: tools\.test/],
        [["call", "no_such_tool"], /no_such_tool/],
        [
          ["call", "create_project", "--args", "{}"],
          /^tool error: validation_error\n.*'name' is missing/,
        ],
      ] as const) {
        const [command, ...rest] = args;
        const { code, out, err } = await orchestrator.plugin(command, ...rest);
        assert.equal(code, 1, args.join(" "));
        assert.match(out + err, expected);
      }
      await using bridge = home.bridge(orchestrator.addr);
      await bridge.connected();
      const interrupted = bridge.call("note", { message: "interrupted", ms: 60_000 });
      await until(() => home.recorded().includes("note interrupted"));
      await orchestrator.kill();
      const { error: lost } = await interrupted;
      assert.equal(lost?.code, -32603);
      assert.match(lost.message, new RegExp(`^The orchestrator at ${orchestrator.addr} was lost`));
      const { error: down } = await bridge.call("create_project", { name: "x" });
      assert.equal(down?.code, -32603);
      assert.match(down.message, /is not reachable; connecting again/);
      assert.deepEqual((await bridge.ask("ping")).result, {});
      const { code, err } = await orchestrator.plugin("list");
      assert.equal(code, 1);
      assert.match(err, /Run `trunkline orchestrator`, or give --orchestrator-addr/);
    });
  });
});

describe("trunkline mcp with plugins of its own", { timeout: 600_000 }, () => {
  it("reads a changed configuration once, for what it started with and what it loaded later", async () => {
    await using home = new BusHome();
    const path = join(home.path, "config.json");
    const { id, binary, ...plugin } = home.testPlugin();
    const write = (greeting: string): void => {
      const own = { ...plugin, command: binary, config: { greeting } };
      writeFileSync(path, JSON.stringify({ bus: { plugins: { [id]: own } } }));
    };
    write("hi");
    const given = ["--config", path, "--data", home.data];
    await using bridge = new Bridge(new Program(["mcp", ...given]));
    const { program } = bridge;
    const greetings = ["moin", "servus"];
    for (const [at, greeting] of greetings.entries()) {
      assert.equal((await bridge.call("echo", { text: "up" })).result?.isError, undefined);
      write(greeting);
      await until(() => program.stderr.split("config.reloaded").length > at + 1);
      await program.says(new RegExp(`booted with \\{.*${greeting}`));
    }
    assert.equal(program.stderr.split("config.reloaded").length - 1, greetings.length);
  });
});

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { PluginLimits } from "../../src/plugin/plugin/settings.ts";
import { BusClient } from "../../src/protocol/bus/connect.ts";
import { connect } from "../../src/wire/quic/transport.ts";
import { BusHome, type OrchestratorProgram, type PluginEntry } from "../support/bus-home.ts";
import { busCredentials, HealthyClient } from "../support/bus-healthy.ts";
import { BusInProcess, wordsOf } from "../support/bus-in-process.ts";
import { quicPeer } from "./quic-go/peer.ts";
import { type PeerLine, PeerProcess } from "./quic-go/peer-process.ts";

async function goPlugin(id: string, ...flags: string[]): Promise<PluginEntry> {
  return { id, binary: await quicPeer(), args: ["plugin", `--id=${id}`, ...flags] };
}

async function run(...args: string[]): Promise<PeerLine> {
  const { code, lines, stderr } = await PeerProcess.run(args);
  assert.equal(code, 0, `${args.join(" ")}: ${stderr}${JSON.stringify(lines)}`);
  return lines[0] ?? {};
}

describe("an orchestrator with bad clients in Go", { timeout: 180_000 }, () => {
  let home: BusHome;
  let orchestrator: OrchestratorProgram;
  let healthy: HealthyClient;
  before(async () => {
    home = new BusHome();
    orchestrator = await home.orchestrator([home.testPlugin()]);
    await orchestrator.logged("plugin.up");
    healthy = new HealthyClient(orchestrator.addr, home.certs);
  });
  after(async () => {
    await healthy[Symbol.asyncDispose]();
    await home[Symbol.asyncDispose]();
  });

  const refused = "connection refused";
  const kinds: Readonly<Record<string, readonly [observed: string, words?: RegExp]>> = {
    // 48, 116, 45 and 120 among the alerts of TLS: unknown CA, certificate required, expired, no
    // application protocol.
    "wrong-ca": [refused, /0x130/],
    "no-cert": [refused, /0x174/],
    expired: [refused, /0x12d/],
    "wrong-alpn": [refused, /0x178/],
    "wrong-name": [refused, /somebody\.else/],
    "huge-frame": ["answered", /over 16777216 bytes/],
    truncated: ["answered", /its last 90 bytes are missing/],
    garbage: ["answered", /Cannot read a PluginRequest/],
    empty: ["answered", /unrecognized request type/],
    "fin-only": ["answered", /the stream ended before it/],
    "no-fin": ["answered", /STATUS_HEALTHY/],
    extra: ["answered", /STATUS_HEALTHY/],
    reset: ["stream reset"],
    "hang-up": ["nothing"],
    vanish: ["nothing"],
    "not-quic": ["nothing"],
  };
  const bad = (kind: string, ...flags: string[]): Promise<PeerLine> =>
    run(
      "bad",
      `--addr=${orchestrator.addr}`,
      `--certs-dir=${home.certs}`,
      `--kind=${kind}`,
      ...flags,
    );

  for (const [kind, [observed, words]] of Object.entries(kinds)) {
    it(`lets one see '${observed}' (${kind}), and others are not affected`, async () => {
      const line = await healthy.during(() => bad(kind));
      assert.deepEqual([line.observed, line.alive], [observed, true], JSON.stringify(line));
      if (words !== undefined) assert.match(JSON.stringify([line.answer, line.error]), words);
    });
  }

  it("continues to serve with 10,000 half-open streams", async () => {
    const line = await healthy.during(() => bad("half-open", "--count=10000"));
    assert.deepEqual([line.opened, line.aliveMeanwhile, line.alive], [10_000, true, true]);
  });
});

describe("our client with bad servers in Go", { timeout: 120_000 }, () => {
  before(() => quicPeer());

  const kinds: Readonly<Record<string, RegExp>> = {
    "wrong-ca": /same CA/,
    expired: /expired/,
    "wrong-name": /name/,
    "wrong-alpn": /protocol/,
    garbage: /The server gave no answer that can be read\. Cannot read a PluginResponse/,
    truncated: /gave no answer that can be read\. Cannot read a frame: only 10 of its 100 bytes/,
    "huge-frame": /gave no answer that can be read\..* 17825792 bytes, the limit is 16777216/,
    "wrong-id": /gave the answer to 'of nobody'/,
    silent: /gave no answer that can be read/,
    reset:
      /aborted the exchange before it had answered: the request may or may not have been carried out/,
    extra: /18 bytes follow it/,
    close:
      /was lost before it had answered: the request may or may not have been carried out.*had enough/,
    hang: /No answer from the server to 'health' within 1000 ms/,
    flood: /gave no answer that can be read/,
  };
  for (const [kind, expected] of Object.entries(kinds)) {
    it(`reports what is wrong (${kind})`, async () => {
      await using home = new BusHome();
      const flags = [`--certs-dir=${home.certs}`, `--kind=${kind}`];
      await using server = await PeerProcess.serve("bad-server", ...flags);
      const credentials = await busCredentials(home.certs, "transport.stdio-client");
      await using client = new BusClient({
        name: "The server",
        dial: (signal) => connect(server.addr, { credentials, signal }),
      });
      const timeout = kind === "hang" ? 1_000 : 20_000;
      await assert.rejects(client.ask({ case: "health", value: {} }, { timeout }), expected);
    });
  }
});

describe("plugins in Go with problems", { timeout: 180_000 }, () => {
  before(() => quicPeer());

  const short: Partial<PluginLimits> = { ready: 1_000, handshake: 1_000 };
  const causes: Readonly<Record<string, RegExp>> = {
    "no-ready": /^It did not say READY within 1000 ms$/,
    exit: /^It ended \(1\) before it was READY, after saying: .*as told to$/,
    "reject-register": /^It refused to be registered: not in the mood$/,
    "boot-error": /^It could not boot: cannot boot, as told to$/,
    "hang-boot": /^No answer from plugin 'ill' to 'boot' within 1000 ms$/,
    "hang-list": /^No answer from plugin 'ill' to 'listTools' within 1000 ms$/,
  };
  for (const [trouble, expected] of Object.entries(causes)) {
    it(`are retried, and say why (${trouble}); the other one serves`, async () => {
      await using home = new BusHome();
      const plugins = [await goPlugin("well"), await goPlugin("ill", `--trouble=${trouble}`)];
      await using bus = await BusInProcess.open(home, plugins, short);
      const { lastError } = await bus.until("ill", ({ restarts }) => restarts > 0);
      assert.match(lastError ?? "", expected);
      await bus.until("well", ({ state }) => state === "up");
      assert.equal(wordsOf(await bus.call("echo", { text: "well" })), "well");
    });
  }

  for (const trouble of ["chatty", "late-ready", "no-dial-back"]) {
    it(`work anyway (${trouble})`, async () => {
      await using home = new BusHome();
      const plugins = [await goPlugin("ill", `--trouble=${trouble}`)];
      await using bus = await BusInProcess.open(home, plugins);
      await bus.until("ill", ({ state }) => state === "up");
      assert.equal(bus.status("ill").restarts, 0);
      assert.equal(wordsOf(await bus.call("echo", { text: "up" })), "up");
    });
  }

  for (const trouble of ["hang-health", "unhealthy"]) {
    it(`are restarted (${trouble})`, async () => {
      await using home = new BusHome();
      const plugins = [await goPlugin("ill", `--trouble=${trouble}`)];
      const limits = { healthEvery: 100, health: 300, mostUnhealthy: 2 };
      await using bus = await BusInProcess.open(home, plugins, limits);
      const first = await bus.until("ill", ({ state }) => state === "up");
      const again = await bus.until("ill", ({ restarts, state }) => restarts > 0 && state === "up");
      assert.notEqual(again.pid, first.pid);
    });
  }

  for (const trouble of ["hang-shutdown", "ignore-sigterm"]) {
    it(`are ended (${trouble})`, async () => {
      await using home = new BusHome();
      const plugins = [await goPlugin("ill", `--trouble=${trouble}`)];
      const bus = await BusInProcess.open(home, plugins);
      const { pid = 0 } = await bus.until("ill", ({ state }) => state === "up");
      await bus[Symbol.asyncDispose]();
      assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
    });
  }

  it("fail only their own calls, with an error that says what they did", async () => {
    await using home = new BusHome();
    const orchestrator = await home.orchestrator([home.testPlugin(), await goPlugin("ill")]);
    await orchestrator.logged("plugin.up", 2);
    await using healthy = new HealthyClient(orchestrator.addr, home.certs);
    const where = [`--addr=${orchestrator.addr}`, `--certs-dir=${home.certs}`, "--timeout=20s"];
    const call = async (tool: string, args: object): Promise<string> => {
      const what = [`--tool=${tool}`, `--arguments=${JSON.stringify(args)}`];
      const { last } = await run("client", ...where, ...what, "call");
      return JSON.stringify(last);
    };
    await healthy.during(async () => {
      for (const [kind, expected] of Object.entries({
        garbage: /Plugin 'ill' gave no answer that can be read/,
        truncated: /only 10 of its 100 bytes came/,
        "huge-frame": /17825792 bytes, the limit is 16777216/,
        "wrong-id": /gave the answer to 'of nobody'/,
        "wrong-kind": /gave an answer of kind 'health', not 'toolCall'/,
        empty: /gave an empty answer/,
        silent: /gave no answer that can be read/,
        reset: /aborted the exchange before it had answered/,
        extra: /18 bytes follow it/,
        close: /was lost before it had answered/,
      })) {
        assert.match(await call("garble", { kind }), expected, kind);
      }
      assert.match(await call("flood", { kind: "frames" }), /longer than the limit/);
      assert.match(await call("flood", { kind: "stderr" }), /"success":true/);
      assert.match(await call("flood", { kind: "publish" }), /published 10000, 0 failed/);
      assert.match(await call("die", {}), /Plugin 'ill' was lost before it had answered/);
      await orchestrator.logged("plugin.up", 3);
      assert.match(await call("inspect", {}), /"id":"ill"/);
    });
    const lines = orchestrator.program.stderr.split("\n").length;
    assert.ok(lines < 500, `${lines} lines of log`);
  });

  it("that stop answering are noticed, and reported", async () => {
    await using home = new BusHome();
    const orchestrator = await home.orchestrator([home.testPlugin(), await goPlugin("ill")]);
    await orchestrator.logged("plugin.up", 2);
    const plugins = JSON.parse((await orchestrator.plugin("list", "--json")).out) as {
      plugins: { id: string; pid: number }[];
    };
    const pid = plugins.plugins.find(({ id }) => id === "ill")?.pid ?? 0;
    await using healthy = new HealthyClient(orchestrator.addr, home.certs);
    await using bridge = home.bridge(orchestrator.addr);
    assert.notEqual((await bridge.call("inspect")).result?.isError, true);
    process.kill(pid, "SIGSTOP");
    try {
      const { result } = await healthy.during(() => bridge.call("inspect"));
      assert.equal(result?.isError, true);
      assert.match(JSON.stringify(result), /was lost before it had answered.*nothing was heard/);
    } finally {
      process.kill(pid, "SIGCONT");
    }
  });
});

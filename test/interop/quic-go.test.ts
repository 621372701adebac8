import assert from "node:assert/strict";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, it } from "node:test";

import { quicPeer } from "./quic-go/peer.ts";
import { type PeerLine, PeerProcess } from "./quic-go/peer-process.ts";

const CLIENT = "transport.stdio-client";

/** What an answer holds, where the test knows its shape. */
type Answer = Record<string, Record<string, unknown>>;

function certsFolder(): Disposable & { readonly path: string } {
  const folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-quic-"));
  return { path: join(folder.path, "certs"), [Symbol.dispose]: () => folder.remove() };
}

async function succeed(...args: string[]): Promise<readonly PeerLine[]> {
  const { code, lines, stderr } = await PeerProcess.run(args);
  assert.equal(code, 0, `${args.join(" ")}: ${stderr}${JSON.stringify(lines)}`);
  return lines;
}

/** If the peer cannot talk to itself, what it says about others is worth nothing. */
describe("the quic-go peer, with itself", { timeout: 600_000 }, () => {
  before(() => quicPeer());

  for (const [size, calls] of [
    [0, 10_000],
    [1024, 10_000],
    [100 * 1024, 500],
    [1024 * 1024, 100],
  ] as const) {
    it(`gets each of ${calls} echoes of ${size} bytes, 32 at once`, async () => {
      using certs = certsFolder();
      await using server = await PeerProcess.serve("echo-server", `--certs-dir=${certs.path}`);
      const load = [`--calls=${calls}`, `--size=${size}`, "--concurrency=32"];
      const [line] = await succeed("load", ...reach(server, certs), ...load);
      assert.deepEqual([line?.calls, line?.errors], [calls, 0]);
      const { streams, failed, unfinished } = await server.stop();
      assert.deepEqual(
        { streams, failed, unfinished },
        { streams: calls, failed: 0, unfinished: 0 },
      );
    });
  }

  it("runs out of streams against the original's defect when its streams end late", async () => {
    using certs = certsFolder();
    const flags = [`--certs-dir=${certs.path}`, "--original-defect"];
    await using server = await PeerProcess.serve("echo-server", ...flags);
    const load = ["--calls=101", "--sending=late-end", "--timeout=2s"];
    const { code, lines } = await PeerProcess.run(["load", ...reach(server, certs), ...load]);
    assert.equal(code, 1);
    assert.equal(lines[0]?.errors, 1);
    assert.match(String(lines[0]?.firstError), /call 100: cannot open a stream/);
    assert.equal((await server.stop()).unfinished, 100);
  });

  const refusals = {
    "wrong-ca": "connection refused",
    "no-cert": "connection refused",
    expired: "connection refused",
    "wrong-alpn": "connection refused",
    "wrong-name": "connection refused",
    "huge-frame": "stream reset",
    truncated: "stream reset",
    "half-open": "opened",
    "hang-up": "nothing",
    vanish: "nothing",
  };
  for (const [kind, observed] of Object.entries(refusals)) {
    it(`sees '${observed}' from a server it treats badly (${kind}), which continues to serve`, async () => {
      using certs = certsFolder();
      const flags = [`--certs-dir=${certs.path}`, "--require-client-cert"];
      await using server = await PeerProcess.serve("echo-server", ...flags);
      const bad = [`--kind=${kind}`, "--probe=echo", "--count=1000"];
      const [line] = await succeed("bad", ...reach(server, certs), ...bad);
      assert.equal(line?.observed, observed, JSON.stringify(line));
      assert.equal(line?.alive, true);
    });
  }

  it("sees each way in which a server can be bad", async () => {
    using certs = certsFolder();
    const kinds = {
      "wrong-ca": /unknown authority/,
      expired: /expired/,
      "wrong-name": /not valid for any names|cannot validate certificate|doesn't contain any IP/,
      "wrong-alpn": /no application protocol/,
      garbage: /cannot parse/,
      truncated: /unexpected EOF/,
      "huge-frame": /frame of 17825792 bytes/,
      "wrong-id": /the answer is to "of nobody"/,
      silent: /no answer: EOF/,
      reset: /error code 7/,
      extra: /bytes after the answer/,
      close: /had enough/,
      hang: /deadline exceeded/,
    };
    for (const [kind, expected] of Object.entries(kinds)) {
      const flags = [`--certs-dir=${certs.path}`, `--kind=${kind}`];
      await using server = await PeerProcess.serve("bad-server", ...flags);
      const args = ["client", ...reach(server, certs), "--timeout=1s", "health"];
      const { code, stderr } = await PeerProcess.run(args);
      assert.equal(code, 1, kind);
      assert.match(stderr, expected, kind);
    }
  });

  it("can be orchestrator, plugin and client by the schema", async () => {
    using certs = certsFolder();
    await using orchestrator = await startOrchestrator(certs.path);
    const ask = async (...args: string[]) =>
      (await succeed("client", ...reach(orchestrator, certs), ...args)) as { response: Answer }[];

    assert.equal((await orchestrator.line("registered")).peer, "tools.peer-client");
    const { tools, health } = await orchestrator.line("plugin");
    assert.ok((tools as string[]).includes("echo"));
    assert.equal(health, "STATUS_HEALTHY");
    const [prompt] = await ask('--arguments={"name":"Ada"}', "prompt");
    assert.match(JSON.stringify(prompt?.response), /Say hello to Ada\./);
    const storage = await ask("storage");
    assert.deepEqual(
      storage
        .map(({ response }) => response.storageWrite?.success)
        .filter((it) => it !== undefined),
      [true, true, false],
    );
    const [streamed] = await ask(
      "--tool=count",
      '--arguments={"chunks":50,"bytes":9999}',
      "stream",
    );
    assert.equal(streamed?.response.streamEnd?.totalChunks, "50");
    const [cancelled] = await ask("--tool=endless", "--cancel-after=3", "stream");
    assert.equal(cancelled?.response.streamEnd?.success, false);
    await ask("events");
  });

  it("passes arguments on, 32 calls at once, and stops its plugin cleanly", async () => {
    using certs = certsFolder();
    await using orchestrator = await startOrchestrator(certs.path);
    const value = { text: "héllo ☃", n: -1.5e300, nothing: null, deep: [{ a: [] }, true] };
    const args = [
      `--arguments=${JSON.stringify(value)}`,
      "--calls=2000",
      "--concurrency=32",
      "call",
    ];
    const [line] = await succeed("client", ...reach(orchestrator, certs), ...args);
    assert.deepEqual([line?.calls, line?.errors, line?.failures], [2000, 0, {}]);
    const last = line?.last as Answer | undefined;
    assert.deepEqual(last?.toolCall?.result, value);
    await orchestrator.stop();
    assert.equal((await orchestrator.line("stopped")).clean, true);
  });

  it("reports a plugin that dies in a call, or never becomes ready", async () => {
    using certs = certsFolder();
    await using orchestrator = await startOrchestrator(certs.path);
    const die = ["client", ...reach(orchestrator, certs), "--tool=die", "call"];
    const [line] = await succeed(...die);
    assert.deepEqual(line?.failures, { routing_error: 1 });
    assert.equal((await orchestrator.line("plugin-exit")).status, "exit status 3");
    await assert.rejects(startOrchestrator(certs.path, "--trouble=exit"), /before it was READY/);
    await assert.rejects(startOrchestrator(certs.path, "--trouble=boot-error"), /cannot boot/);
  });

  it("reports what is wrong with a command line", async () => {
    for (const [args, expected] of [
      [["load"], /--addr is required/],
      [["bad", "--addr=a", "--certs-dir=b", "--kind=evil"], /--kind "evil": one of wrong-ca/],
      [["client", "--addr=a", "--certs-dir=b", "dance"], /action "dance"/],
      [["orchestrator", "--plugin={}"], /needs an id and a binary/],
    ] as const) {
      const { code, stderr } = await PeerProcess.run(args);
      assert.equal(code, 2);
      assert.match(stderr, expected);
    }
  });
});

function reach(server: PeerProcess, certs: { readonly path: string }): string[] {
  return [`--addr=${server.addr}`, `--certs-dir=${certs.path}`, `--name=${CLIENT}`];
}

/** An orchestrator with one plugin, both of them the peer. */
async function startOrchestrator(certs: string, ...flags: string[]): Promise<PeerProcess> {
  const id = "tools.peer";
  const args = ["plugin", `--id=${id}`, ...flags];
  const plugin = { id, binary: await quicPeer(), args, provides_storage: ["memory"] };
  return PeerProcess.serve(
    "orchestrator",
    `--certs-dir=${certs}`,
    `--plugin=${JSON.stringify(plugin)}`,
  );
}

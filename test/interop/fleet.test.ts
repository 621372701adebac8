import assert from "node:assert/strict";
import { once } from "node:events";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { DRAINED } from "../../src/cli/worker/worker.ts";
import type { Json } from "../support/acp-app.ts";
import { AcpSocket, promptOf } from "../support/acp-socket.ts";
import { FleetRig } from "../support/fleet-rig.ts";
import { noNats } from "../support/nats-server.ts";

const ECHO = join(import.meta.dirname, "../support/echo-server.mjs");

/** Waits until something is there. */
async function until<T>(find: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const found = await find().catch(() => undefined);
    if (found !== undefined) return found;
    await delay(50);
  }
}

describe("a fleet of processes", { skip: noNats, timeout: 600_000 }, () => {
  it("opens sessions in workers, for clients of any gateway", async () => {
    await using rig = await FleetRig.start();
    await rig.worker("w1");
    const [one, two] = [await rig.gateway("g1"), await rig.gateway("g2")];
    using first = await rig.client(one);
    const { sessionId } = await first.ask("session/new", { cwd: rig.folder, mcpServers: [] });
    await first.ask("session/prompt", promptOf(sessionId, "say hello"));
    assert.match(first.text, /hello/);
    using second = await rig.client(two);
    await second.ask("session/load", { sessionId, cwd: rig.folder, mcpServers: [] });
    assert.match(second.text, /hello/);
    const { sessions } = await second.ask("session/list", {});
    assert.deepEqual(
      sessions.map((session: { sessionId: string }) => session.sessionId),
      [sessionId],
    );
    await second.ask("session/prompt", promptOf(sessionId, "say again"));
    await first.until(({ text }) => (text.includes("again") ? true : undefined));
  });

  it("shows the whole session where a worker that was paused takes it back", async () => {
    await using rig = await FleetRig.start();
    const { child } = await rig.worker("w1");
    const gateway = await rig.gateway("g1");
    const first = await rig.client(gateway);
    const { sessionId } = await first.ask("session/new", { cwd: rig.folder, mcpServers: [] });
    const opening = { sessionId, cwd: rig.folder, mcpServers: [] };
    await first.ask("session/prompt", promptOf(sessionId, "say before"));
    // Nothing waits for the worker when it wakes up: a prompt would tell it that it has lost the session.
    first[Symbol.dispose]();
    await rig.worker("w2");
    child.kill("SIGSTOP");
    using second = await rig.client(gateway);
    await second.ask("session/load", opening);
    await second.ask("session/prompt", promptOf(sessionId, "say meanwhile"));
    child.kill("SIGCONT");
    await until(async () => {
      await using list = rig.command(["worker", "list"]);
      await list.exit;
      return list.lines.some((line) => line.startsWith("w1")) ? true : undefined;
    });
    await rig.kill("w2");
    using later = await rig.client(gateway);
    await later.ask("session/load", opening);
    assert.match(later.text, /before[^]*meanwhile/);
    await later.ask("session/prompt", promptOf(sessionId, "say after"));
    assert.match(later.text, /before[^]*meanwhile[^]*after/);
  });

  it("keeps a session and its forks to workers with the labels that it asked for", async () => {
    await using rig = await FleetRig.start();
    const pool = ["--pool", "lab"];
    await rig.worker("w1", ...pool, "--label", "disk=fast");
    await rig.worker("w2", ...pool);
    const gateway = await rig.gateway("g1", ...pool);
    using client = await rig.client(gateway);
    const place = { cwd: rig.folder, mcpServers: [] };
    const labelled = { ...place, _meta: { trunkline: { labels: { disk: "fast" } } } };
    const { sessionId } = await client.ask("session/new", labelled);
    const { sessionId: fork } = await client.ask("session/fork", { ...place, sessionId });
    // This worker is busier than the one without the label when the two others come.
    await rig.worker("w3", ...pool, "--label", "disk=fast");
    await client.ask("session/new", labelled);
    await rig.kill("w1");
    await client.ask("session/prompt", promptOf(sessionId, "say one"));
    await client.ask("session/prompt", promptOf(fork, "say other"));
    await using list = rig.command(["worker", "list"], "--json", ...pool);
    assert.equal(await list.exit, 0, list.stderr);
    const { nodes } = JSON.parse(list.lines.join("\n")) as { nodes: Json[] };
    const sessions = nodes.map(({ name, sessions: open }) => [name, open]);
    assert.deepEqual(Object.fromEntries(sessions), { g1: 0, w2: 0, w3: 3 });
    await using elsewhere = rig.command(["worker", "list"]);
    await elsewhere.exit;
    assert.match(elsewhere.lines.join("\n"), /^Pool 'default' has no gateway and no worker/);
    const unreadable = { ...place, _meta: { trunkline: { labels: ["disk=fast"] } } };
    await assert.rejects(client.ask("session/new", unreadable), /labels' must be an object/);
  });

  it("drains a worker: its turns end first, and its sessions move", async () => {
    await using rig = await FleetRig.start();
    const first = await rig.worker("w1");
    const gateway = await rig.gateway("g1");
    using client = await rig.client(gateway);
    const { sessionId } = await client.ask("session/new", { cwd: rig.folder, mcpServers: [] });
    await rig.worker("w2", "--label", "disk=fast");
    // A slot that was promised more than once, on a busy machine, lapses.
    await until(async () => {
      await using list = rig.command(["worker", "list"]);
      assert.equal(await list.exit, 0, list.stderr);
      const text = list.lines.join("\n");
      return /g1 +gateway[^]*w1 +worker +1 of 8[^]*w2 .*disk=fast/.test(text) ? true : undefined;
    });
    const running = client.answer("session/prompt", promptOf(sessionId, "forever"));
    await client.until(({ text }) => (text.includes("5 ") ? true : undefined));
    await using drain = rig.command(["worker", "drain"], "w1");
    await drain.until(({ lines }) => lines.some((line) => line.includes("takes no new sessions")));
    await client.until(({ text }) => (text.includes("20 ") ? true : undefined));
    client.socket.send(
      JSON.stringify({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } }),
    );
    assert.deepEqual((await running).result, { stopReason: "cancelled" });
    assert.equal(await first.exit, DRAINED);
    assert.equal(await drain.exit, 0, drain.stderr);
    assert.deepEqual(drain.lines.at(-1), "w1 has ended.");
    await client.ask("session/prompt", promptOf(sessionId, "say moved"));
    assert.match(client.text, /moved/);
  });

  it("says that a drain did not end if the worker is killed meanwhile, and goes on elsewhere", async () => {
    await using rig = await FleetRig.start();
    await rig.worker("w1");
    const gateway = await rig.gateway("g1");
    using client = await rig.client(gateway);
    const { sessionId } = await client.ask("session/new", { cwd: rig.folder, mcpServers: [] });
    await rig.worker("w2");
    const running = client.answer("session/prompt", promptOf(sessionId, "forever"));
    await client.until(({ text }) => (text.includes("5 ") ? true : undefined));
    await using drain = rig.command(["worker", "drain"], "w1");
    await drain.until(({ lines }) => lines.some((line) => line.includes("takes no new sessions")));
    await rig.kill("w1");
    assert.equal(await drain.exit, 1);
    assert.match(drain.stderr, /Cannot drain 'w1': it ended before all its sessions had moved\./);
    assert.deepEqual((await running).error?.data, { interrupted: true });
    await client.ask("session/prompt", promptOf(sessionId, "say after"));
    assert.match(client.text, /after/);
    // The one that is left is told to stop in its drain.
    client.send("session/prompt", promptOf(sessionId, "forever"));
    await client.until(({ text }) => (/after[^]*5 /.test(text) ? true : undefined));
    await using other = rig.command(["worker", "drain"], "w2");
    await other.until(({ lines }) => lines.some((line) => line.includes("takes no new sessions")));
    await rig.stop("w2");
    assert.equal(await other.exit, 1);
    assert.match(other.stderr, /it ended before/);
  });

  it("has the same tokens, tools and audit at every node", async () => {
    const record = join(tmpdir(), `trunkline-calls-${crypto.randomUUID()}`);
    await using rig = await FleetRig.start();
    const notes = { command: process.execPath, args: [ECHO, "notes", record] };
    rig.configure("w1", { mcpServers: { notes } });
    await rig.worker("w1");
    await rig.gateway("g1");
    const gateway = await rig.gateway("g2");
    await using created = rig.local(
      "g1",
      "token",
      "create",
      "ci",
      "--scope",
      "tools",
      "--scope",
      "sessions",
    );
    assert.equal(await created.exit, 0, created.stderr);
    const headers = { authorization: `Bearer ${created.lines[0]}` };
    // A tool of the worker, called at one gateway with a token of the other.
    const call = { name: "notes_do", arguments: { message: "over there" } };
    const answer = await until(async () => {
      const { result } = await gateway.mcp(1, "tools/call", call, headers);
      return (result as { isError?: boolean } | undefined)?.isError === true ? undefined : result;
    });
    assert.match(JSON.stringify(answer), /over there/);
    await until(async () => {
      await using search = rig.local("g1", "audit", "search", "notes_do", "--json");
      await search.exit;
      const { entries } = JSON.parse(search.lines.join("\n")) as { entries: { node?: string }[] };
      const nodes = new Set(entries.map(({ node }) => node));
      return nodes.has("w1") && nodes.has("g2") ? true : undefined;
    });
    using client = await AcpSocket.connect(gateway.ready.acp, headers);
    const closed = once(client.socket, "close");
    await using revoked = rig.local("g1", "token", "revoke", "ci");
    assert.equal(await revoked.exit, 0, revoked.stderr);
    await closed;
    await assert.rejects(AcpSocket.connect(gateway.ready.acp, headers));
    rmSync(record, { force: true });
  });

  it("says which worker is missing, and what to do", async () => {
    await using rig = await FleetRig.start();
    const gateway = await rig.gateway("g1");
    using client = await rig.client(gateway);
    const place = { cwd: rig.folder, mcpServers: [] };
    await assert.rejects(client.ask("session/new", place), /pool 'default' has no worker/);
    await using drain = rig.command(["worker", "drain"], "w1");
    assert.equal(await drain.exit, 1);
    assert.match(drain.stderr, /Pool 'default' has no worker 'w1'/);
  });
});

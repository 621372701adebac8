import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { DRAINED } from "../../src/cli/worker/worker.ts";
import type { Json } from "../support/acp-app.ts";
import { type AcpSocket, promptOf } from "../support/acp-socket.ts";
import { FleetRig } from "../support/fleet-rig.ts";
import { noNats } from "../support/nats-server.ts";
import { TestCa } from "../support/quic-certificates.ts";
import { runInProcess } from "../support/run-in-process.ts";

const COUNTED = { _meta: { trunkline: { sequence: true } } };

/** The numbers of the events that a client was shown. */
function numbersOf({ messages }: AcpSocket): number[] {
  return messages.flatMap(({ params }) => params?._meta?.trunkline?.seq ?? []);
}

async function stateOf(client: AcpSocket, params: object): Promise<Json> {
  const { _meta } = await client.ask("session/resume", params);
  return _meta.trunkline;
}

describe("the nodes of a fleet", { skip: noNats, timeout: 600_000 }, () => {
  it("show each event once to a client whose gateway is killed in a turn, and that resumes at another", async () => {
    await using rig = await FleetRig.start();
    await rig.worker("w1");
    const [one, two] = [await rig.gateway("g1"), await rig.gateway("g2")];
    using first = await rig.client(one);
    const place = { cwd: rig.folder, mcpServers: [] };
    const { sessionId } = await first.ask("session/new", { ...place, ...COUNTED });
    first.send("session/prompt", promptOf(sessionId, "forever"));
    await first.until(({ text }) => (text.includes("20 ") ? true : undefined));
    const closed = once(first.socket, "close");
    await rig.kill("g1");
    await closed;
    const seen = numbersOf(first);
    const after = seen.at(-1);
    using second = await rig.client(two);
    const resumed = { ...place, sessionId, _meta: { trunkline: { sequence: true, after } } };
    assert.equal((await stateOf(second, resumed)).turn, "running");
    await second.until(({ text }) => (text.split(" ").length > 40 ? true : undefined));
    second.socket.send(
      JSON.stringify({ jsonrpc: "2.0", method: "session/cancel", params: { sessionId } }),
    );
    using watching = await rig.client(two);
    while ((await stateOf(watching, { ...place, sessionId })).turn !== "idle");
    await second.ask("session/prompt", promptOf(sessionId, "say done"));
    using third = await rig.client(two);
    await third.ask("session/load", { ...place, sessionId });
    assert.equal(third.text.replace("say done", ""), `forever${first.text}${second.text}`);
    const numbers = [...seen, ...numbersOf(second)];
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].toSorted((a, b) => a - b),
    );
  });

  it("are let in by NATS over TLS with credentials that the program makes, and do no more than they may", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-secured-"));
    const file = (name: string): string => join(folder.path, name);
    const ca = await TestCa.make("P-256");
    const { cert = "", key = "" } = await ca.issue("nats");
    await writeFile(file("ca.pem"), ca.pem);
    await writeFile(file("cert.pem"), cert);
    await writeFile(file("key.pem"), key);
    const env = { HOME: folder.path, TRUNKLINE_DATA: file("data") };
    const users: string[] = [];
    for (const [name, role] of [
      ["g1", "gateway"],
      ["w1", "worker"],
      ["*", "worker"],
    ] as const) {
      const out = file(name === "*" ? "any.nkey" : `${name}.nkey`);
      const args = ["worker", "credentials", name, "--role", role, "--out", out, "--json"];
      const made = await runInProcess(args, { env, cwd: folder.path });
      assert.equal(made.code, 0, made.err);
      users.push((JSON.parse(made.out) as { settings: string }).settings);
    }
    const tls = `tls { cert_file: "${file("cert.pem")}", key_file: "${file("key.pem")}" }\n`;
    const account = `{ jetstream: enabled, users: [\n${users.join("")}] }`;
    await using rig = await FleetRig.start({}, `${tls}accounts { TL_default ${account} }`);
    for (const [name, own] of [
      ["g1", "g1"],
      ["w1", "w1"],
      ["w2", "any"],
    ] as const) {
      const credentials = file(`${own}.nkey`);
      rig.configure(name, { fleet: { name, credentials, tls: { caFile: file("ca.pem") } } });
    }
    const gateway = await rig.gateway("g1");
    const first = await rig.worker("w1");
    using client = await rig.client(gateway);
    const { sessionId } = await client.ask("session/new", { cwd: rig.folder, mcpServers: [] });
    await client.ask("session/prompt", promptOf(sessionId, "say before"));
    const second = await rig.worker("w2");
    await using list = rig.commandAt("g1", "worker", "list");
    assert.equal(await list.exit, 0, list.stderr);
    assert.match(list.lines.join("\n"), /g1 +gateway[^]*w1 +worker +1 of 8[^]*w2 +worker/);
    // A worker may drain itself, and no other.
    await using refused = rig.commandAt("w1", "worker", "drain", "w2");
    assert.equal(await refused.exit, 1);
    assert.match(refused.stderr, /Cannot reach node 'w2': .*permission/i);
    await using own = rig.commandAt("w1", "worker", "drain");
    assert.equal(await own.exit, 0, own.stderr);
    assert.equal(await first.exit, DRAINED, first.stderr);
    await client.ask("session/prompt", promptOf(sessionId, "say after"));
    assert.match(client.text, /before[^]*after/);
    await client.ask("session/close", { sessionId });
    await using drain = rig.commandAt("g1", "worker", "drain", "w2");
    assert.equal(await drain.exit, 0, drain.stderr);
    assert.equal(await second.exit, DRAINED, second.stderr);
  });

  it("keep a question over the end of a gateway, and then of the worker", async () => {
    await using rig = await FleetRig.start();
    await rig.worker("w1");
    const [one, two] = [await rig.gateway("g1"), await rig.gateway("g2")];
    using first = await rig.client(one);
    const place = { cwd: rig.folder, mcpServers: [] };
    const { sessionId } = await first.ask("session/new", place);
    first.send("session/prompt", promptOf(sessionId, "permission"));
    await first.until((client) => client.questions[0]);
    await rig.kill("g1");
    using second = await rig.client(two);
    await second.ask("session/load", { ...place, sessionId });
    const still = await second.until((client) => client.questions[0]);
    await rig.worker("w2");
    await rig.kill("w1");
    const again = await second.until((client) => client.questions[1]);
    assert.deepEqual(again.params.toolCall, still.params.toolCall);
    second.choose(again, "once");
    await second.ask("session/prompt", promptOf(sessionId, "permission"));
    assert.equal(second.questions.length, 2);
    assert.match(second.text, /"optionId":"once"/);
  });

  it("end in words if another has their name, and may be restarted at once", async () => {
    await using rig = await FleetRig.start();
    const first = await rig.worker("w1");
    const gateway = await rig.gateway("g1");
    const second = await rig.worker("w2", "--name", "w1");
    assert.equal(await second.exit, 1);
    assert.match(second.stderr, /Cannot be node 'w1': another worker of pool 'default' has that/);
    await first.says(/fleet\.same-name/);
    const third = await rig.gateway("g2", "--name", "g1");
    assert.equal(await third.program.exit, 1);
    assert.match(third.program.stderr, /Cannot be node 'g1': another gateway of pool 'default'/);
    await rig.kill("w1");
    await rig.worker("w1");
    using client = await rig.client(gateway);
    const { sessionId } = await client.ask("session/new", { cwd: rig.folder, mcpServers: [] });
    await client.ask("session/prompt", promptOf(sessionId, "say here"));
    assert.match(client.text, /here/);
  });
});

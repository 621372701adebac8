// Long: workers and their NATS server.
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type AcpSocket, promptOf } from "../../../test/support/acp-socket.ts";
import type { Json } from "../../../test/support/acp-app.ts";
import { FleetInProcess } from "../../../test/support/fleet-in-process.ts";
import { noNats } from "../../../test/support/nats-server.ts";
import { until } from "../../../test/support/until.ts";
import type { Member } from "../../fleet/members/members.ts";
import type { openWorker } from "../../app/fleet/worker.ts";

/** Waits until a client was shown something. */
const shown = (client: AcpSocket, what: RegExp): Promise<true> =>
  client.until(({ text }) => (what.test(text) ? true : undefined));

/** What one worker knows of another. */
const memberOf = (
  { fleet }: Awaited<ReturnType<typeof openWorker>>,
  name: string,
): Member | undefined => fleet.members.alive.find((member) => member.name === name);

describe("a worker", { skip: noNats, timeout: 600_000 }, () => {
  it("opens sessions for clients of any gateway", async () => {
    await using fleet = await FleetInProcess.start();
    await fleet.worker("w1");
    const place = { cwd: fleet.folder, mcpServers: [] };
    using first = await fleet.client(await fleet.gateway("g1"));
    const { sessionId } = await first.ask("session/new", place);
    await first.ask("session/prompt", promptOf(sessionId, "say hello"));
    assert.match(first.text, /hello/);
    using second = await fleet.client(await fleet.gateway("g2"));
    await second.ask("session/load", { sessionId, ...place });
    assert.match(second.text, /hello/);
    const { sessions } = await second.ask("session/list", {});
    assert.deepEqual(
      sessions.map((session: { sessionId: string }) => session.sessionId),
      [sessionId],
    );
    await second.ask("session/prompt", promptOf(sessionId, "say again"));
    await shown(first, /again/);
  });

  it("has sessions and their forks that asked for a label that it has, also when they move", async () => {
    await using fleet = await FleetInProcess.start();
    const pool = "lab";
    const label = ["disk=fast"];
    await fleet.worker("w1", { pool, label });
    await fleet.worker("w2", { pool });
    using client = await fleet.client(await fleet.gateway("g1", { pool }));
    const place = { cwd: fleet.folder, mcpServers: [] };
    const labelled = { ...place, _meta: { trunkline: { labels: { disk: "fast" } } } };
    const { sessionId } = await client.ask("session/new", labelled);
    const { sessionId: fork } = await client.ask("session/fork", { ...place, sessionId });
    // This worker is busier than the one without the label when the two others come.
    await fleet.worker("w3", { pool, label });
    await client.ask("session/new", labelled);
    await fleet.stop("w1");
    await client.ask("session/prompt", promptOf(sessionId, "say one"));
    await client.ask("session/prompt", promptOf(fork, "say other"));
    const list = await fleet.command("worker", "list", "--json", "--pool", pool);
    const { nodes } = JSON.parse(list.out) as { nodes: Json[] };
    assert.deepEqual(Object.fromEntries(nodes.map((node) => [node.name, node.sessions])), {
      g1: 0,
      w2: 0,
      w3: 3,
    });
    const { out } = await fleet.command("worker", "list");
    assert.match(out, /^Pool 'default' has no gateway and no worker/);
    const unreadable = { ...place, _meta: { trunkline: { labels: ["disk=fast"] } } };
    await assert.rejects(client.ask("session/new", unreadable), /labels' must be an object/);
  });

  it("lets turns end when it is drained, and its sessions move", async () => {
    await using fleet = await FleetInProcess.start();
    const { drained } = await fleet.worker("w1");
    using client = await fleet.client(await fleet.gateway("g1"));
    const { sessionId } = await client.ask("session/new", { cwd: fleet.folder, mcpServers: [] });
    const other = await fleet.worker("w2", { label: ["disk=fast"] });
    // A slot that was promised more than once, on a busy machine, lapses.
    await until(() => memberOf(other, "w1")?.used === 1);
    // On a busy machine a node may not be heard of in the time that the command listens.
    const list = async (): Promise<string> => (await fleet.command("worker", "list")).out;
    await until(async () =>
      /g1 +gateway[^]*w1 +worker +1 of 8[^]*w2 .*disk=fast/.test(await list()),
    );
    const running = client.answer("session/prompt", promptOf(sessionId, "permission"));
    const question = await client.until(({ questions }) => questions[0]);
    const draining = fleet.command("worker", "drain", "w1");
    await until(() => memberOf(other, "w1")?.isDraining === true);
    client.choose(question, "once");
    assert.deepEqual((await running).result, { stopReason: "end_turn" });
    await drained;
    await fleet.stop("w1");
    const { code, out, err } = await draining;
    assert.equal(code, 0, err);
    assert.match(out, /^w1 takes no new sessions\.\n[^]*w1 has ended\.\n$/);
    await client.ask("session/prompt", promptOf(sessionId, "say moved"));
    assert.match(client.text, /"optionId":"once"[^]*moved/);
  });

  it("is not called drained if it ends before its turns do", async () => {
    await using fleet = await FleetInProcess.start();
    await fleet.worker("w1");
    const gateway = await fleet.gateway("g1");
    using client = await fleet.client(gateway);
    const place = { cwd: fleet.folder, mcpServers: [] };
    const { sessionId } = await client.ask("session/new", place);
    const other = await fleet.worker("w2");
    client.send("session/prompt", promptOf(sessionId, "permission"));
    await client.until(({ questions }) => questions[0]);
    const draining = fleet.command("worker", "drain", "w1");
    await until(() => memberOf(other, "w1")?.isDraining === true);
    await fleet.stop("w1");
    const { code, err } = await draining;
    assert.equal(code, 1);
    assert.match(err, /Cannot drain 'w1': it ended before all its sessions had moved\./);
    using later = await fleet.client(gateway);
    await later.ask("session/load", { sessionId, ...place });
    await later.ask("session/prompt", promptOf(sessionId, "say after"));
    assert.match(later.text, /after/);
  });

  it("is named where it is missing, with what to do", async () => {
    await using fleet = await FleetInProcess.start();
    using client = await fleet.client(await fleet.gateway("g1"));
    const place = { cwd: fleet.folder, mcpServers: [] };
    await assert.rejects(client.ask("session/new", place), /pool 'default' has no worker/);
    const { code, err } = await fleet.command("worker", "drain", "w1");
    assert.equal(code, 1);
    assert.match(err, /Pool 'default' has no worker 'w1'/);
  });
});

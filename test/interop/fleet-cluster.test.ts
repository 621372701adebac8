import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { DRAINED } from "../../src/cli/worker/worker.ts";
import { promptOf } from "../support/acp-socket.ts";
import { FleetRig } from "../support/fleet-rig.ts";
import { noNats } from "../support/nats-server.ts";
import type { ServedGateway } from "../support/served-gateway.ts";
import { until } from "../support/until.ts";

/** The status of a page of a gateway, and what it says. */
async function ask({ ready }: ServedGateway, path: string): Promise<readonly [number, string]> {
  const response = await fetch(new URL(path, ready.acp.replace("ws", "http")));
  return [response.status, await response.text()];
}

describe("a fleet with three servers of NATS", { skip: noNats, timeout: 900_000 }, () => {
  it("goes on without one of them, is not ready without two, and drains as soon as two are back", async () => {
    await using rig = await FleetRig.clustered();
    const [first, second, third] = rig.servers;
    assert.ok(first && second && third);
    const gateway = await rig.gateway("g1");
    const worker = await rig.worker("w1");
    await until(async () => (await ask(gateway, "/readyz"))[0] === 200);
    using client = await rig.client(gateway);
    const { sessionId } = await client.ask("session/new", { cwd: rig.folder, mcpServers: [] });

    await first.kill();
    await client.ask("session/prompt", promptOf(sessionId, "say two-are-enough"));
    assert.match(client.text, /two-are-enough/);
    await until(async () => (await ask(gateway, "/readyz"))[0] === 200);

    // The last one is cut off from the others: it runs, and can store nothing.
    await second.pause();
    await until(async () => (await ask(gateway, "/readyz"))[0] === 503);
    await until(async () =>
      /the servers of NATS have no majority/.test((await ask(gateway, "/readyz"))[1]),
    );
    assert.equal((await ask(gateway, "/healthz"))[0], 200);

    second.resume();
    await using drain = rig.command(["worker", "drain"], "w1");
    assert.equal(await drain.exit, 0, drain.stderr);
    assert.equal(await worker.exit, DRAINED);
    assert.doesNotMatch(drain.stderr, /has no JetStream/);
    await until(async () => (await ask(gateway, "/readyz"))[0] === 200);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { noNats } from "../../../test/support/nats-server.ts";
import { Fleet, type FleetNode } from "../../../test/support/shared-fleet.ts";
import { until } from "../../../test/support/until.ts";

const RULE = { workspace: "/w", subject: "bash", session: "s", by: "ada", principal: "" } as const;

describe("Shared permission rules", { skip: noNats }, () => {
  it("given at a gateway are in force at a worker, which has no tokens", async () => {
    await using fleet = await Fleet.start();
    await using gateway = await fleet.node("a");
    await using worker = await fleet.node("b", "worker");
    await gateway.tokens.create("ci", { scopes: ["tools"] });
    await gateway.rules.add({ ...RULE, decision: "allow" });
    await until(async () => (await decision(worker)) === "allow");
    await worker.rules.add({ ...RULE, decision: "reject" });
    await until(async () => (await decision(gateway)) === "reject");
    const [rule] = await gateway.rules.list();
    await gateway.rules.revoke(rule?.id ?? 0);
    await until(async () => (await decision(worker)) === undefined);
    assert.deepEqual(worker.tokens.list(), []);
  });

  it("that contradict each other permit less, at all nodes", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    await using b = await fleet.node("b");
    await using c = await fleet.node("c");
    await until(() => [a, b, c].every(({ shared }) => shared.status.isUpToDate));
    await fleet.nats.kill();
    await a.rules.add({ ...RULE, decision: "allow" });
    await b.rules.add({ ...RULE, decision: "reject" });
    await c.rules.add({ ...RULE, decision: "allow" });
    await fleet.nats.restart();
    for (const node of [a, b, c]) await until(async () => (await decision(node)) === "reject");
  });
});

async function decision({ rules }: FleetNode): Promise<string | undefined> {
  return (await rules.find("/w", "bash", ""))?.decision;
}

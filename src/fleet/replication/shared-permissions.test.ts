import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { GuardedNats } from "../../../test/support/guarded-nats.ts";
import { noNats } from "../../../test/support/nats-server.ts";
import { FleetNode } from "../../../test/support/shared-fleet.ts";
import { until } from "../../../test/support/until.ts";
import { wholeAuditBackwards } from "../../store/audit/whole-audit.ts";

describe("Permissions of nodes for what they share", { skip: noNats }, () => {
  it("let them share everything they share", async () => {
    await using nats = await GuardedNats.start([
      { pool: "p", role: "gateway", name: "g" },
      { pool: "p", role: "worker", name: "w" },
    ]);
    const start = async (name: string, role: "gateway" | "worker"): Promise<FleetNode> => {
      return FleetNode.start(join(nats.folder, name), name, await nats.connect(name), role);
    };
    await using gateway = await start("g", "gateway");
    await until(() => gateway.shared.status.isUpToDate);
    await gateway.tokens.create("ci", { scopes: ["tools"] });
    await until(() => gateway.tokensShared?.status.isUpToDate === true);
    await using worker = await start("w", "worker");
    worker.audit.record({ time: new Date().toISOString(), tool: "x" });
    const rule = { workspace: "/w", subject: "s", session: "1", by: "ada", principal: "" };
    await worker.rules.add({ ...rule, decision: "allow" });
    await until(async () => (await gateway.rules.list()).length === 1);
    await until(
      async () => (await Array.fromAsync(wholeAuditBackwards(gateway.data))).length === 1,
    );
    await gateway.rules.revoke((await gateway.rules.list())[0]?.id ?? 0);
    await until(async () => (await worker.rules.list()).length === 0);
    assert.deepEqual(nats.refused, []);
  });
});

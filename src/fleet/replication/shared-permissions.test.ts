import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { jetstreamManager } from "@nats-io/jetstream";

import { GuardedNats } from "../../../test/support/guarded-nats.ts";
import { noNats } from "../../../test/support/nats-server.ts";
import { FleetNode } from "../../../test/support/shared-fleet.ts";
import { until } from "../../../test/support/until.ts";
import type { FleetConnection } from "../connection/connect.ts";
import { wholeAuditBackwards } from "../../store/audit/whole-audit.ts";

describe("Permissions of nodes for what they share", { skip: noNats }, () => {
  it("let them share rules, tokens and audits, and refuse nothing of that", async () => {
    await using nats = await GuardedNats.start([
      { pool: "p", role: "gateway", name: "g" },
      { pool: "p", role: "worker", name: "w" },
    ]);
    const start = (role: "gateway" | "worker", connection: FleetConnection): Promise<FleetNode> => {
      const { name } = connection;
      return FleetNode.start(join(nats.folder, name), name, connection, role);
    };
    const connection = await nats.connect("g");
    await using gateway = await start("gateway", connection);
    await until(() => gateway.shared.status.isUpToDate);
    await until(() => gateway.tokensShared?.status.isUpToDate === true);
    await gateway.tokens.create("ci", { scopes: ["tools"] });
    const { subjects, nats: client } = connection;
    const { streams } = await jetstreamManager(client);
    await until(async () => (await streams.info(subjects.tokens)).state.messages === 1);
    await using worker = await start("worker", await nats.connect("w"));
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

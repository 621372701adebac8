import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { errors, nkeys } from "@nats-io/transport-node";

import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { FleetNode } from "../../../test/support/shared-fleet.ts";
import { until } from "../../../test/support/until.ts";
import { FleetConnection } from "../connection/connect.ts";
import { type FleetUser, natsSettings } from "../connection/permissions.ts";
import { Subjects } from "../subjects.ts";
import { wholeAuditBackwards } from "../../store/audit/whole-audit.ts";

describe("Permissions of nodes for what they share", { skip: noNats }, () => {
  it("let them share everything, but a worker no tokens", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-permissions-"));
    const users: FleetUser[] = [];
    for (const [name, role] of [
      ["g", "gateway"],
      ["w", "worker"],
    ] as const) {
      const key = nkeys.createUser();
      users.push({ pool: "p", role, name, nkey: key.getPublicKey() });
      await writeFile(join(folder.path, `${name}.key`), key.getSeed(), { mode: 0o600 });
    }
    await using nats = await NatsServer.start(natsSettings(users));
    const refused: string[] = [];
    const start = async (name: string, role: "gateway" | "worker"): Promise<FleetNode> => {
      const connection = await FleetConnection.open({
        url: nats.url,
        credentials: join(folder.path, `${name}.key`),
        subjects: new Subjects("p"),
        name,
      });
      void noteRefusals(connection, refused);
      return FleetNode.start(join(folder.path, name), name, connection, role);
    };
    await using gateway = await start("g", "gateway");
    await until(() => gateway.shared.status.isUpToDate);
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
    assert.deepEqual(refused, []);
  });
});

async function noteRefusals({ nats }: FleetConnection, refused: string[]): Promise<void> {
  for await (const status of nats.status()) {
    if (status.type !== "error") continue;
    if (status.error instanceof errors.PermissionViolationError) refused.push(status.error.message);
  }
}

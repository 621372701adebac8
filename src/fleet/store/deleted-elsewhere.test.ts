import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { FleetStores } from "../../../test/support/fleet-stores.ts";
import { NatsServer, noNats } from "../../../test/support/nats-server.ts";
import { deletedElsewhere } from "./deleted-elsewhere.ts";

const NEW = { cwd: "/a", agent: "x", notes: {} };

describe("deletedElsewhere", { skip: noNats, timeout: 60_000 }, () => {
  it("finds the sessions that another worker has deleted, and no others", async () => {
    await using server = await NatsServer.start();
    await using fleet = new FleetStores(server);
    const first = await fleet.worker();
    for (const id of ["moved", "deleted", "released"]) {
      const { key } = await first.store.create({ ...NEW, id });
      await first.store.release(key);
    }
    await first.store.create({ ...NEW, id: "open" });
    const second = await fleet.worker();
    for (const id of ["moved", "deleted"]) await second.store.hold(id);
    await second.store.delete("deleted");
    const found = (): Promise<string[]> =>
      Array.fromAsync(deletedElsewhere(first.store.log, first.store), ({ id }) => id);
    assert.deepEqual(await found(), ["deleted"]);
    await first.store.log.delete("deleted");
    assert.deepEqual(await found(), []);
    assert.equal((await first.store.find("released"))?.isDeleted, false);
  });
});

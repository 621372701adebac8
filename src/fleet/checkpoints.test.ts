import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { describe, it } from "node:test";

import { jetstream, jetstreamManager } from "@nats-io/jetstream";

import { NatsServer, noNats } from "../../test/support/nats-server.ts";
import { Checkpoints } from "./checkpoints.ts";
import { FleetConnection } from "./connection/connect.ts";
import { subjectsOf } from "./subjects.ts";

const RUN = { workspace: "abc", session: "s1" };

async function connect({ url }: NatsServer): Promise<FleetConnection> {
  return await FleetConnection.open({ url, subjects: subjectsOf("p"), name: "n" });
}

describe("Checkpoints", { skip: noNats, timeout: 30_000 }, () => {
  it("give a checkpoint to other nodes, and to the own one if it lost the workspace", async () => {
    await using server = await NatsServer.start();
    await using connection = await connect(server);
    const confirm = async (): Promise<void> => {};
    const one = new Checkpoints({ connection, node: "one", confirm });
    const two = new Checkpoints({ connection, node: "two", confirm });
    assert.equal(await two.load(RUN, false), undefined);
    // Longer than a message of NATS.
    const packed = randomBytes(3_000_000);
    await one.save(RUN, packed);
    assert.deepEqual(await two.load(RUN, true), packed);
    assert.deepEqual(await one.load(RUN, false), packed);
    const { consumers } = await jetstreamManager(connection.nats);
    const readers = await consumers.list(`OBJ_${connection.subjects.checkpoints}`).next();
    assert.deepEqual(readers, []);
    assert.equal(await one.load(RUN, true), undefined);
    await two.save(RUN, Buffer.from("later"));
    assert.equal(String(await one.load(RUN, true)), "later");
    await one.remove(RUN.workspace);
    assert.equal(await two.load(RUN, false), undefined);
    await one.remove(RUN.workspace);
  });

  it("say that a checkpoint is not whole, and read the next one if it was replaced", async () => {
    await using server = await NatsServer.start();
    await using connection = await connect(server);
    const confirm = async (): Promise<void> => {};
    const one = new Checkpoints({ connection, node: "one", confirm });
    const two = new Checkpoints({ connection, node: "two", confirm });
    await one.save(RUN, randomBytes(300_000));
    const stream = `OBJ_${connection.subjects.checkpoints}`;
    const { streams } = await jetstreamManager(connection.nats);
    await streams.purge(stream, { filter: `$O.${connection.subjects.checkpoints}.C.>` });
    await assert.rejects(two.load(RUN, true), {
      code: "unavailable",
      message: /^Cannot read checkpoint 'abc': NATS has 0 of its 300000 bytes/,
    });
    let last = randomBytes(300_000);
    await one.save(RUN, last);
    for (let round = 1; round <= 20; round++) {
      const next = randomBytes(300_000);
      const [loaded] = await Promise.all([two.load(RUN, true), one.save(RUN, next)]);
      assert.ok(loaded !== undefined && (loaded.equals(last) || loaded.equals(next)));
      last = next;
    }
  });

  it("leave nothing of a process that was killed while it stored one, and of an earlier one", async () => {
    await using server = await NatsServer.start();
    await using connection = await connect(server);
    const one = new Checkpoints({ connection, node: "one", confirm: async () => {} });
    const { checkpoints } = connection.subjects;
    const { streams } = await jetstreamManager(connection.nats);
    const chunks = async (): Promise<number> => {
      const subjects_filter = `$O.${checkpoints}.C.>`;
      const { state } = await streams.info(`OBJ_${checkpoints}`, { subjects_filter });
      return Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
    };
    const halfway = async (workspace: string): Promise<void> =>
      void (await jetstream(connection.nats).publish(`$O.${checkpoints}.C.${workspace}.x`, "half"));
    await one.save(RUN, randomBytes(300_000));
    await one.save({ workspace: "other", session: "s2" }, Buffer.from("other"));
    await halfway(RUN.workspace);
    const packed = randomBytes(300_000);
    await one.save(RUN, packed);
    assert.equal(await chunks(), 3 + 1);
    assert.deepEqual(await one.load(RUN, false), packed);
    await halfway(RUN.workspace);
    await one.remove(RUN.workspace);
    assert.equal(await chunks(), 1);
    await halfway("never-whole");
    await one.remove("never-whole");
    assert.equal(await chunks(), 1);
  });

  it("store nothing of a node that does not hold the session any more", async () => {
    await using server = await NatsServer.start();
    await using connection = await connect(server);
    const confirm = async (session: string): Promise<void> => {
      throw new Error(`Another node has ${session}`);
    };
    const late = new Checkpoints({ connection, node: "late", confirm });
    await assert.rejects(late.save(RUN, Buffer.from("old")), /Another node has s1/);
    assert.equal(await late.load(RUN, false), undefined);
  });

  it("keep that of the next holder, if the last one goes on after it was confirmed", async () => {
    await using server = await NatsServer.start();
    await using connection = await connect(server);
    const next = new Checkpoints({ connection, node: "next", confirm: async () => {} });
    const packed = randomBytes(300_000);
    const confirm = (): Promise<void> => next.save(RUN, packed);
    const late = new Checkpoints({ connection, node: "late", confirm });
    for (let round = 1; round <= 2; round++) {
      await assert.rejects(late.save(RUN, randomBytes(300_000)), /wrong last sequence/);
      assert.deepEqual(await late.load(RUN, true), packed);
    }
    await next.remove(RUN.workspace);
    await next.save(RUN, packed);
    assert.deepEqual(await late.load(RUN, true), packed);
  });
});

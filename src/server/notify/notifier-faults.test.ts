import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { ASKED, messageIn, NotifierRig, until } from "../../../test/support/notifier-rig.ts";

describe("a store that fails", { timeout: 30_000 }, () => {
  it("delays a notification, and loses and repeats none, whatever fails first", async () => {
    await using rig = await NotifierRig.open();
    const operations: readonly RegExp[] = [/^openSync/, /INTO request/, /INSERT INTO notice/];
    for (const [index, operation] of operations.entries()) {
      using disk = new DiskFaults(rig.data);
      const failed = failing(disk, operation);
      const notifier = rig.notifier(rig.webhook());
      notifier.noticed({ ...ASKED, requestId: `r-${index}` });
      await failed;
      assert.equal(rig.receiver.received.length, index);
      disk.decide = () => undefined;
      const { id } = messageIn(await rig.receiver.find(() => true, index));
      await until(notifier, id, "delivered");
      await rig.close(notifier);
    }
    assert.equal(rig.receiver.received.length, operations.length);
  });

  it("does not send again what was sent while its outcome could not be stored", async () => {
    await using rig = await NotifierRig.open();
    using disk = new DiskFaults(rig.data);
    const notifier = rig.notifier(rig.webhook());
    const failed = failing(disk, /UPDATE delivery SET state/);
    const id = await notifier.add({ reason: "test" });
    await failed;
    assert.deepEqual(
      (await notifier.deliveriesOf(id)).map(({ state }) => state),
      ["pending"],
      "nothing is shown as delivered that is not stored",
    );
    disk.decide = () => undefined;
    const { attempts } = await until(notifier, id, "delivered");
    assert.deepEqual([attempts, rig.receiver.received.length], [1, 1]);
  });
});

/** Lets one operation fail from now on. Resolves when it has failed twice. */
function failing(disk: DiskFaults, operation: RegExp): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  let count = 0;
  disk.decide = ({ operation: name, path }) => {
    if (!path.includes("notifications.sqlite") || !operation.test(name)) return undefined;
    if (++count === 2) resolve();
    return "ENOSPC";
  };
  return promise;
}

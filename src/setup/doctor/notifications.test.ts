import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { DeliveryQueue, openNotifyDatabase } from "../../store/notify/notify-store.ts";
import { checkNotifications } from "./settings-checks.ts";

const notifications = [{ name: "bell", command: ["true"] }];

describe("checkNotifications()", () => {
  it("finds entries that cannot work, and receivers whose last notification did not arrive", async () => {
    await using folder = await SampleFolder.create();
    const { path: data } = folder;
    assert.deepEqual(await checkNotifications({ data, notifications: [] }), []);
    const [fine] = await checkNotifications({ data, notifications });
    assert.equal(fine?.state, "ok");
    const [wrong] = await checkNotifications({ data, notifications: [{ detail: true }] });
    assert.equal(wrong?.state, "fail");
    assert.match(wrong.says, /needs one of/);

    using database = await openNotifyDatabase(data);
    using queue = new DeliveryQueue(database, data);
    const send = async (id: string, state: "delivered" | "failed", at: number): Promise<void> => {
      const notice = { id, at, content: { reason: "test" } };
      await queue.add(notice, [{ entry: "bell", receiver: "bell" }]);
      const [taken] = await queue.take(["bell"], 1);
      assert.ok(taken !== undefined);
      await queue.tried(taken, { state, result: "exit code 3" });
    };
    const now = Date.now();
    await send("a", "failed", now - 2);
    const [failed] = await checkNotifications({ data, notifications });
    assert.equal(failed?.state, "warn");
    assert.match(failed.says, /the last one to bell was not delivered: exit code 3/);
    assert.equal(failed.command, "trunkline notification test");
    await send("b", "delivered", now - 1);
    const [works] = await checkNotifications({ data, notifications });
    assert.equal(works?.state, "ok", "it works again");
    await send("c", "failed", now);
    const tomorrow = now + 25 * 60 * 60_000;
    const [old] = await checkNotifications({ data, notifications }, tomorrow);
    assert.equal(old?.state, "ok", "it is long ago");
  });
});

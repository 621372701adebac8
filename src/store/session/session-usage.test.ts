import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { NOTHING_USED } from "../../base/limit/budget.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { SessionLog } from "./session-log.ts";
import { SessionUsage } from "./session-usage.ts";

const USAGE = {
  turn: "t1",
  session: "s1",
  principal: "token a",
  day: "2026-03-01",
  tokens: 100,
  cost: 0.5,
  steps: 3,
  time: 1.5,
  reportedCost: undefined,
};
const AMOUNTS = { tokens: 100, cost: 0.5, steps: 3, time: 1.5 };

describe("SessionUsage", () => {
  it("adds up the turns of a session, and those of a principal's day", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const usage = new SessionUsage(log.database);
    assert.deepEqual(await usage.ofDay("token a", USAGE.day), NOTHING_USED);
    await usage.note(USAGE);
    await usage.note({ ...USAGE, turn: "t2", session: "s2", tokens: 5 });
    await usage.note({ ...USAGE, turn: "t3", session: "s3", principal: "token b" });
    await usage.note({ ...USAGE, turn: "t4", session: "s3", day: "2026-03-02" });
    assert.equal((await usage.ofDay("token a", USAGE.day)).tokens, 105);
    assert.equal((await usage.ofDay("token a", USAGE.day, "t1")).tokens, 5);
    assert.equal((await usage.ofSession("s3")).tokens, 200);
  });

  it("replaces what it knew of a turn", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const usage = new SessionUsage(log.database);
    await usage.note({ ...USAGE, tokens: 1, steps: 1 });
    await usage.note(USAGE);
    assert.deepEqual(await usage.ofDay("token a", USAGE.day), AMOUNTS);
  });

  it("knows the cost that the agent reported last", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const usage = new SessionUsage(log.database);
    assert.equal((await usage.ofSession("s1")).reportedCost, undefined);
    await usage.note({ ...USAGE, reportedCost: 2 });
    await usage.note({ ...USAGE, turn: "t2", reportedCost: 0.25 });
    await usage.note({ ...USAGE, turn: "t3" });
    assert.equal((await usage.ofSession("s1")).reportedCost, 0.25);
  });

  it("is shared with another process at once, and is there after all are closed", async () => {
    await using folder = await SampleFolder.create();
    {
      await using log = await SessionLog.open(folder.path);
      await using other = await SessionLog.open(folder.path);
      await new SessionUsage(log.database).note(USAGE);
      assert.equal((await new SessionUsage(other.database).ofSession("s1")).steps, 3);
    }
    await using log = await SessionLog.open(folder.path);
    assert.equal((await new SessionUsage(log.database).ofSession("s1")).steps, 3);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { AnswerLinks, DeliveryQueue, openNotifyDatabase } from "./notify-store.ts";

describe("AnswerLinks", () => {
  it("answer one request with one option, until the request is closed", async () => {
    await using folder = await SampleFolder.create();
    using database = await openNotifyDatabase(folder.path);
    const links = new AnswerLinks(database);
    await links.open("r1", "s1");
    await links.open("r2", "s1");
    const [yes = "", no = ""] = (await links.make("r1", ["yes", "no"])) ?? [];
    const [other = ""] = (await links.make("r2", ["yes"])) ?? [];
    const found = { requestId: "r1", sessionId: "s1" };
    assert.deepEqual(await links.find(no), { ...found, optionId: "no" });
    // The session could not be reached: it still answers.
    assert.deepEqual(await links.find(no), { ...found, optionId: "no" });
    assert.equal(await links.find("x".repeat(43)), undefined);
    await links.close("r1");
    assert.deepEqual([await links.find(yes), await links.find(no)], [undefined, undefined]);
    assert.equal(await links.make("r1", ["yes"]), undefined, "it was answered");
    assert.equal((await links.find(other))?.optionId, "yes");
  });

  it("end with their request, and after a day", async () => {
    await using folder = await SampleFolder.create();
    using database = await openNotifyDatabase(folder.path);
    let now = 1_000_000;
    const links = new AnswerLinks(database, () => now);
    await links.open("r1", "s1");
    const [yes = ""] = (await links.make("r1", ["yes"])) ?? [];
    assert.ok(await links.isOpen("r1"));
    await links.close("r1");
    assert.ok(!(await links.isOpen("r1")));
    assert.equal(await links.find(yes), undefined);
    await links.open("r2", "s1");
    const [late = ""] = (await links.make("r2", ["yes"])) ?? [];
    now += 24 * 60 * 60_000;
    assert.equal(await links.find(late), undefined);
  });
});

const HOUR = 60 * 60_000;

async function rig() {
  const opened = new AsyncDisposableStack();
  const folder = opened.use(await SampleFolder.create());
  const database = opened.use(await openNotifyDatabase(folder.path));
  const clock = { now: 1_000_000 };
  const queue = opened.use(new DeliveryQueue(database, folder.path, () => clock.now));
  const add = (id: string): Promise<void> =>
    queue.add({ id, at: clock.now, content: { reason: "test" } }, [
      { entry: "hook", receiver: "hook" },
    ]);
  return { queue, database, clock, add, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

describe("DeliveryQueue", () => {
  it("gives each delivery to one process, and again once it is due", async () => {
    await using it = await rig();
    const { queue, clock } = it;
    await it.add("a");
    assert.deepEqual(await queue.take(["other"], 8), []);
    const [taken, ...more] = await queue.take(["hook"], 8);
    assert.ok(taken !== undefined && more.length === 0);
    assert.deepEqual(await queue.take(["hook"], 8), [], "it is being sent");
    await queue.tried(taken, { state: "pending", result: "status 503", due: clock.now + 500 });
    assert.deepEqual(await queue.take(["hook"], 8), []);
    assert.equal(await queue.nextDue(["hook"]), clock.now + 500);
    clock.now += 500;
    const [again] = await queue.take(["hook"], 8);
    assert.equal(again?.attempts, 1);
    await queue.tried(again, { state: "delivered", result: "accepted" });
    assert.equal(await queue.nextDue(["hook"]), undefined);
    const attempts = await queue.attempts(again.id);
    assert.deepEqual(
      attempts.map(({ result }) => result),
      ["status 503", "accepted"],
    );
  });

  it("takes over at once what a process was sending that has ended", async () => {
    await using it = await rig();
    const { queue, database, clock } = it;
    await it.add("a");
    const [taken] = await queue.take(["hook"], 8);
    const dead = `1-${crypto.randomUUID()}`;
    await database.change((sqlite) => {
      sqlite.prepare("UPDATE delivery SET holder = ?, due = ?").run(dead, clock.now + HOUR);
    });
    assert.equal((await queue.take(["hook"], 8))[0]?.id, taken?.id);
  });

  it("gives up what could not be delivered within a day, and says so", async () => {
    await using it = await rig();
    const { queue, clock } = it;
    await it.add("a");
    const [taken] = await queue.take(["hook"], 8);
    assert.ok(taken !== undefined);
    await queue.tried(taken, { state: "pending", result: "status 503", due: clock.now });
    clock.now += 25 * HOUR;
    assert.deepEqual(await queue.take(["hook"], 8), []);
    const [given] = await queue.list();
    assert.equal(given?.state, "failed");
    assert.equal(given.result, "it could not be delivered within a day: status 503");
  });

  it("keeps the last 500 notices, and those that are not delivered", async () => {
    await using it = await rig();
    const { queue, clock } = it;
    await it.add("waiting");
    for (let count = 0; count < 502; count++) {
      clock.now++;
      const problem = "nobody";
      const receivers = [{ entry: "hook", receiver: "hook", problem }];
      await queue.add({ id: `n${count}`, at: clock.now, content: {} }, receivers);
    }
    const all = await queue.list(1_000);
    assert.equal(all.length, 502);
    assert.equal(all.at(-1)?.notice.id, "waiting");
    assert.equal((await queue.ofNotice("n0")).length, 0);
  });
});

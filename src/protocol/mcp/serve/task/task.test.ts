import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../../../test/support/requirement.ts";
import { CannotAsk, type Question, ToolFault } from "../../../../tool/tool.ts";
import type { JsonObject } from "../../json-object.ts";
import { Rounds } from "../rounds.ts";
import type { TaskRecord } from "../../../../tool/task-record.ts";
import { Task } from "./task.ts";

type Work = (ask: (question: Question) => Promise<unknown>) => Promise<JsonObject>;

/** A task that works, and keeps what becomes of it in order. */
function begin(work: Work, store?: (record: TaskRecord) => Promise<void>) {
  const seen: string[] = [];
  const stops: Error[] = [];
  const task = new Task({
    id: "t",
    owner: "o",
    createdAt: "2026-01-01T00:00:00.000Z",
    ttl: null,
    rounds: new Rounds(work),
    stop: (reason) => void stops.push(reason),
    store: async (record) => {
      seen.push(`stored ${record.status}`);
      await store?.(record);
    },
    changed: ({ status }) => void seen.push(status),
  });
  return { task, seen, stops };
}

const asking: Work = async (ask) => (await ask({ method: "elicitation/create" })) as JsonObject;

describe("Task", { timeout: 600_000 }, () => {
  it("runs first, and stores its result before it reports it", async () => {
    covers("mcp.tasks.begin-working", "mcp.tasks.terminal");
    const { task, seen } = begin(async () => ({ content: [] }));
    assert.equal(task.status, "working");
    await task.next();
    assert.deepEqual(seen, ["stored completed", "completed"]);
    assert.deepEqual(task.result, { content: [] });
    task.cancel();
    assert.equal(task.status, "completed");
  });

  it("waits for an answer, and continues once it has it", async () => {
    covers("mcp.tasks.input-required");
    const { task, seen } = begin(asking);
    await task.next();
    assert.equal(task.status, "input_required");
    task.give({ other: {} });
    assert.equal(task.status, "input_required");
    task.give({ "input-1": { action: "accept" } });
    assert.equal(task.status, "working");
    await task.next();
    assert.deepEqual(seen, ["input_required", "working", "stored completed", "completed"]);
  });

  it("is cancelled at once: its work is stopped and its questions are dropped", async () => {
    covers("mcp.tasks.cancelled-stays");
    const { task, seen, stops } = begin(asking);
    await task.next();
    task.cancel();
    assert.equal(task.status, "cancelled");
    assert.equal(stops.length, 1);
    assert.equal(task.questions.size, 0);
    task.cancel();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(seen, ["input_required", "cancelled", "stored cancelled"]);
    assert.equal(task.status, "cancelled");
  });

  it("fails with the protocol's error if there is one, and otherwise reveals nothing internal", async () => {
    const failing: [Error, number, RegExp][] = [
      [new ToolFault(-32042, "Look at a page", { a: 1 }), -32042, /Look at a page/],
      [new CannotAsk({ method: "roots/list" }), -32021, /./],
      [new Error("at /secret/path.ts"), -32603, /^Internal error$/],
    ];
    for (const [error, code, message] of failing) {
      const { task } = begin(() => Promise.reject(error));
      await task.next();
      assert.equal(task.status, "failed");
      assert.equal(task.error?.code, code);
      assert.match(task.error?.message ?? "", message);
    }
  });

  it("wakes waiting callers when they cancel", async () => {
    const { task } = begin(() => new Promise(() => {}));
    const giveUp = new AbortController();
    const waiting = task.next(giveUp.signal);
    giveUp.abort();
    await waiting;
    assert.equal(task.status, "working");
    task.cancel();
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../../test/support/requirement.ts";
import type { TaskStatus } from "../../../tool/task-record.ts";
import type { KnownTask } from "../serve/task/known-task.ts";
import { CORE_TASKS, EXTENSION_TASKS } from "./task-shapes.ts";

/** A task in a status, which counts how often it is cancelled. */
function sampleTask(status: TaskStatus, more: Partial<KnownTask> = {}) {
  let cancelled = 0;
  return {
    id: "t1",
    owner: "owner",
    createdAt: "2026-01-01T00:00:00.000Z",
    lastUpdatedAt: "2026-01-01T00:00:01.000Z",
    ttl: 60_000,
    status,
    isOver: status !== "working" && status !== "input_required",
    questions: new Map([["q", { method: "elicitation/create", params: { message: "?" } }]]),
    give: () => {},
    cancel: () => void cancelled++,
    next: async () => {},
    get cancelled() {
      return cancelled;
    },
    ...more,
  };
}

describe("tasks of 2025-11-25", () => {
  it("have a status, a time and a poll interval", () => {
    covers("mcp.tasks.create", "mcp.tasks.poll-interval");
    assert.deepEqual(CORE_TASKS.shapeNewTask(sampleTask("working")), {
      task: {
        taskId: "t1",
        createdAt: "2026-01-01T00:00:00.000Z",
        lastUpdatedAt: "2026-01-01T00:00:01.000Z",
        status: "working",
        ttl: 60_000,
        pollInterval: 500,
      },
    });
  });

  it("have failed if their tool reports an error", () => {
    covers("mcp.tasks.tool-error");
    const failed = sampleTask("completed", { result: { isError: true } });
    assert.equal(CORE_TASKS.shapeTask(failed).status, "failed");
    const done = sampleTask("completed", { result: { isError: false } });
    assert.equal(CORE_TASKS.shapeTask(done).status, "completed");
  });

  it("say why they failed", () => {
    const task = sampleTask("failed", { error: { code: -1, message: "no disk" } });
    assert.equal(CORE_TASKS.shapeTask(task).statusMessage, "no disk");
  });

  it("can be cancelled until they have ended", () => {
    covers("mcp.tasks.cancel", "mcp.tasks.cancel-terminal");
    const task = sampleTask("working");
    assert.equal(CORE_TASKS.cancelTask(task).taskId, "t1");
    assert.equal(task.cancelled, 1);
    const over = sampleTask("completed");
    assert.throws(() => CORE_TASKS.cancelTask(over), { code: -32602 });
    assert.equal(over.cancelled, 0);
  });

  it("are created only for clients that ask for them", () => {
    assert.ok(CORE_TASKS.isTask({ task: {} }, { task: {} }));
    assert.ok(!CORE_TASKS.isTask({}, { resultType: "task" }));
  });
});

describe("tasks by the extension of 2026-07-28", () => {
  it("are announced without their result, and reported with it", () => {
    covers("mcp.tasks-extension.result-type", "mcp.tasks-extension.outcome");
    const done = sampleTask("completed", { result: { content: [] } });
    const promised = EXTENSION_TASKS.shapeNewTask(done);
    assert.equal(promised.resultType, "task");
    assert.ok(!("result" in promised));
    const result = { resultType: "complete", content: [] };
    assert.deepEqual(EXTENSION_TASKS.shapeTask(done).result, result);
    const error = { code: -32603, message: "no" };
    assert.deepEqual(EXTENSION_TASKS.shapeTask(sampleTask("failed", { error })).error, error);
  });

  it("are reported with their questions only while they wait for answers", () => {
    covers("mcp.tasks-extension.input-required");
    const { inputRequests } = EXTENSION_TASKS.shapeTask(sampleTask("input_required"));
    assert.deepEqual(inputRequests, {
      q: { method: "elicitation/create", params: { message: "?" } },
    });
    for (const status of ["working", "cancelled"] as const) {
      assert.ok(!("inputRequests" in EXTENSION_TASKS.shapeTask(sampleTask(status))), status);
    }
  });

  it("have completed even if their tool failed: the result says so", () => {
    const failed = sampleTask("completed", { result: { isError: true } });
    assert.equal(EXTENSION_TASKS.shapeTask(failed).status, "completed");
  });

  it("are cancelled with an empty answer, also when they have ended", () => {
    covers("mcp.tasks-extension.cancel");
    assert.deepEqual(EXTENSION_TASKS.cancelTask(sampleTask("working")), {});
    assert.deepEqual(EXTENSION_TASKS.cancelTask(sampleTask("completed")), {});
  });
});

import assert from "node:assert/strict";
import { describe, it, mock } from "node:test";

import { DiskFaults } from "../../../../../test/support/disk-faults.ts";
import { RawClient } from "../../../../../test/upstream/raw-client.ts";
import { SampleFolder } from "../../../../../test/samples/sample-folder.ts";
import { TaskRecords } from "../../../../store/task-records.ts";
import { Offer } from "../../../../tool/offer/offer.ts";
import { textResult } from "../../../../tool/tool.ts";
import { McpDoor } from "../door.ts";
import { TASKS_CAPABILITY } from "../../meta.ts";
import type { TaskRecord, TaskStore } from "../../../../tool/task-record.ts";
import { covers } from "../../../../../test/support/requirement.ts";

const MODERN = {
  revision: "2026-07-28",
  capabilities: TASKS_CAPABILITY,
} as const;
const LEGACY = { revision: "2025-11-25" } as const;

/** A door with one tool, which goes on until it is told what to answer. */
class WaitingDoor {
  readonly done = Promise.withResolvers<string>();
  readonly reports: string[] = [];
  readonly audit: { outcome: string }[] = [];
  readonly door: McpDoor;

  constructor(store?: TaskStore) {
    const offer = new Offer({ audit: { record: (entry) => this.audit.push(entry) } });
    offer.tools.add({
      definition: { name: "wait", inputSchema: { type: "object" } },
      task: "required",
      call: async () => textResult(await this.done.promise),
    });
    const report = (event: string): unknown => this.reports.push(event);
    this.door = new McpDoor({ offer, tasks: { store: store && (async () => store), report } });
  }

  async begin(client: RawClient, task: object = {}): Promise<string> {
    const { result } = await client.callTool("wait", {}, client.isModern ? {} : { task });
    return (result.task?.taskId ?? result.taskId) as string;
  }
}

describe("Tasks", { timeout: 600_000 }, () => {
  it("have no time limit if their client gives none", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      for (const options of [LEGACY, MODERN]) {
        const waiting = new WaitingDoor();
        await using client = await RawClient.connect(waiting.door, options);
        const taskId = await waiting.begin(client);
        mock.timers.tick(24 * 60 * 60_000);
        const { result } = await client.request("tasks/get", { taskId });
        assert.equal(result.status, "working");
        assert.equal(options === LEGACY ? result.ttl : result.ttlMs, null);
      }
      const waiting = new WaitingDoor();
      await using client = await RawClient.connect(waiting.door, LEGACY);
      const taskId = await waiting.begin(client, { ttl: 1000 });
      mock.timers.tick(1000);
      const { error } = await client.request("tasks/get", { taskId });
      assert.match(error.message, /no task has the id/);
    } finally {
      mock.timers.reset();
    }
  });

  it("return the result to a client that reconnects, in a process that never saw the task", async () => {
    await using folder = await SampleFolder.create();
    const ids: string[] = [];
    {
      using store = await TaskRecords.open(folder.path);
      const waiting = new WaitingDoor(store);
      for (const options of [LEGACY, MODERN]) {
        await using client = await RawClient.connect(waiting.door, options);
        ids.push(await waiting.begin(client));
      }
      waiting.done.resolve("a result");
      await using client = await RawClient.connect(waiting.door, LEGACY);
      for (const taskId of ids) await client.request("tasks/result", { taskId });
    }
    using store = await TaskRecords.open(folder.path);
    const { door } = new WaitingDoor(store);
    await using legacy = await RawClient.connect(door, LEGACY);
    await using modern = await RawClient.connect(door, MODERN);
    for (const taskId of ids) {
      const { result } = await legacy.request("tasks/result", { taskId });
      assert.equal(result.content[0].text, "a result");
      const got = (await modern.request("tasks/get", { taskId }))["result"];
      assert.deepEqual([got.status, got.result.content[0].text], ["completed", "a result"]);
      await assert.rejects(async () => door.tasks.find(taskId, "somebody else"), /no task/);
    }
  });

  it("are visible only to their principal, in any process", async () => {
    covers("mcp.tasks.isolation");
    await using folder = await SampleFolder.create();
    using store = await TaskRecords.open(folder.path);
    const waiting = new WaitingDoor(store);
    await using client = await RawClient.connect(waiting.door, LEGACY);
    const id = await waiting.begin(client);
    const { owner } = await waiting.door.tasks.find(id, "");
    assert.equal(owner, "");
    const others = async () => waiting.door.tasks.find(id, "token:1");
    await assert.rejects(others(), /no task has the id/);
    waiting.done.resolve("");
    await client.request("tasks/result", { taskId: id });
    await assert.rejects(others(), /no task has the id/);
  });

  it("fail a call whose task cannot be stored, and lose no task that cannot be stored at its end", async () => {
    await using folder = await SampleFolder.create();
    using store = await TaskRecords.open(folder.path);
    using disk = new DiskFaults(folder.path);
    const waiting = new WaitingDoor(store);
    await using client = await RawClient.connect(waiting.door, LEGACY);
    disk.decide = () => "ENOSPC";
    const { error } = await client.callTool("wait", {}, { task: {} });
    assert.match(error.message, /database or disk is full/);
    assert.deepEqual(waiting.audit, [], "the tool did not run");
    disk.decide = () => undefined;
    const taskId = await waiting.begin(client);
    disk.decide = () => "ENOSPC";
    waiting.done.resolve("kept in memory");
    const { result } = await client.request("tasks/result", { taskId });
    assert.equal(result.content[0].text, "kept in memory");
    assert.deepEqual(waiting.reports, ["task.not-stored"]);
  });

  it("are recorded as begun before their call is answered", async () => {
    const waiting = new WaitingDoor();
    await using client = await RawClient.connect(waiting.door, MODERN);
    await waiting.begin(client);
    assert.deepEqual(
      waiting.audit.map(({ outcome }) => outcome),
      ["begun"],
    );
    waiting.done.resolve("");
    await new Promise(setImmediate);
    assert.deepEqual(
      waiting.audit.map(({ outcome }) => outcome),
      ["begun", "ok"],
    );
  });

  it("are taken over from a process that has ended, for their owner only", async () => {
    const remote = { tool: "slow", server: "far", taskId: "there-1" };
    const now = new Date().toISOString();
    const times = { createdAt: now, lastUpdatedAt: now };
    const record = { id: "ours-1", owner: "", ttl: null, status: "working", ...times } as const;
    const adopted: string[] = [];
    let stored: TaskRecord = { ...record, remote, isLost: true };
    const store: TaskStore = {
      begin: async () => {},
      end: async (ended) => {
        stored = ended;
      },
      goesOn: async () => {},
      adopt: async (id) => adopted.push(id) === 1,
      find: async (id) => (id === record.id ? stored : undefined),
    };
    const offer = new Offer();
    const resumed: string[] = [];
    const done = Promise.withResolvers<string>();
    offer.tools.add({
      definition: { name: "slow", inputSchema: { type: "object" } },
      source: { server: "far", name: "slow" },
      call: () => textResult("called again"),
      resume: async (taskId) => {
        resumed.push(taskId);
        return textResult(await done.promise);
      },
    });
    const door = new McpDoor({ offer, tasks: { store: async () => store } });
    await assert.rejects(async () => door.tasks.find("ours-1", "somebody else"), /no task has/);
    assert.deepEqual(adopted, []);
    await using client = await RawClient.connect(door, MODERN);
    const looks = [1, 2].map(() => client.request("tasks/get", { taskId: "ours-1" }));
    for (const { result } of await Promise.all(looks)) assert.equal(result.status, "working");
    done.resolve("at last");
    let status = "working";
    while (status === "working") {
      const { result } = await client.request("tasks/get", { taskId: "ours-1" });
      status = String(result.status);
      if (status === "completed") assert.equal(result.result.content[0].text, "at last");
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.deepEqual(resumed, ["there-1"]);
  });
});

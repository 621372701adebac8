import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { RpcError } from "../../../rpc/rpc-error.ts";
import { ClientPair } from "../../../../test/upstream/client-pair.ts";
import type { Json } from "../../../../test/upstream/raw-client.ts";
import { SampleContext } from "../../../../test/upstream/sample-context.ts";
import {
  LEGACY,
  MODERN,
  Refusal,
  type Script,
  type ScriptedServer,
  SILENCE,
} from "../../../../test/upstream/scripted-server.ts";
import { covers } from "../../../../test/support/requirement.ts";

const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const TASKS = "io.modelcontextprotocol/tasks";
const DONE = { content: [{ type: "text", text: "done" }] };
const accept = () => ({ action: "accept", content: {} });

const working = (more: Json = {}): Json => ({
  taskId: "t1",
  status: "working",
  createdAt: "2026-11-15T00:00:00Z",
  lastUpdatedAt: "2026-11-15T00:00:00Z",
  ttlMs: 60_000,
  pollIntervalMs: 20,
  ...more,
});

/** A server whose tool goes on as a task, which is seen as these, one look after the other. */
const tasking = (looks: readonly (Json | Error)[], more: Script = {}): Script => {
  let look = 0;
  return {
    ...MODERN,
    "tools/call": () => ({ resultType: "task", ...working() }),
    "tasks/get": () => {
      const seen = looks[Math.min(look++, looks.length - 1)];
      if (seen instanceof Error) throw seen;
      return { resultType: "complete", ...seen };
    },
    "tasks/update": () => ({ resultType: "complete" }),
    "tasks/cancel": () => ({ resultType: "complete" }),
    ...more,
  };
};

const completed = working({ status: "completed", result: { resultType: "complete", ...DONE } });

describe("McpClient.callTool() that a server of 2026-07-28 answers with a task", () => {
  it("returns the result of the task, after announcing support for tasks", async () => {
    covers("mcp.tasks-extension.client");
    await using pair = await ClientPair.connect(tasking([working(), completed]));
    const result = await pair.client.callTool("echo", {}, new SampleContext());
    assert.deepEqual(result, DONE);
    for (const method of ["tools/call", "tasks/get", "subscriptions/listen"]) {
      const params = pair.server.asked(method).at(-1)?.["params"] as Json;
      assert.deepEqual(params["_meta"][CAPABILITIES].extensions, { [TASKS]: {} }, method);
    }
    assert.equal(pair.client.callsInFlight, 0);
    // What was listened for is over.
    const listen = pair.server.asked("subscriptions/listen").at(-1);
    await pair.server.until((server) => cancelledIds(server).includes(listen?.["id"]));
  });

  it("does not announce support for a method that cannot be a task, and refuses one there", async () => {
    const script: Script = {
      ...MODERN,
      "server/discover": () => ({
        supportedVersions: ["2026-07-28"],
        capabilities: { prompts: {} },
      }),
      "prompts/get": () => ({ resultType: "task", ...working() }),
    };
    await using pair = await ClientPair.connect(script);
    const getting = pair.client.getPrompt("p", {}, new SampleContext());
    await assert.rejects(getting, /the server answered 'prompts\/get' with a task/);
    const params = pair.server.asked("prompts/get")[0]?.["params"] as Json;
    assert.deepEqual(params["_meta"][CAPABILITIES], {});
    assert.equal(pair.client.callsInFlight, 0);
  });

  it("reports the task's status to its caller, after the call's own progress", async () => {
    const script = tasking(
      [
        working({ statusMessage: "half way", lastUpdatedAt: "2026-11-15T00:00:01Z" }),
        working({ statusMessage: "half way", lastUpdatedAt: "2026-11-15T00:00:01Z" }),
        completed,
      ],
      {
        "tools/call": ({ _meta }, server) => {
          const { progressToken } = _meta;
          server.notify("notifications/progress", { progressToken, progress: 7, message: "soon" });
          return { resultType: "task", ...working({ statusMessage: "begun" }) };
        },
      },
    );
    await using pair = await ClientPair.connect(script);
    const context = new SampleContext();
    await pair.client.callTool("echo", {}, context);
    assert.deepEqual(context.progressed, [
      [7, undefined, "soon"],
      [8, undefined, "begun"],
      [9, undefined, "half way"],
    ]);
  });

  it("asks the task's questions once, and sends the answer", async () => {
    const asking = working({
      status: "input_required",
      inputRequests: {
        who: { method: "elicitation/create", params: { mode: "form", message: "Who?" } },
      },
    });
    let answer: Json | undefined;
    const script = tasking([], {
      "tasks/get": () => (answer === undefined ? asking : completed),
      "tasks/update": ({ inputResponses }) => ((answer = inputResponses), {}),
    });
    await using pair = await ClientPair.connect(script);
    const asked = Promise.withResolvers<Json>();
    const context = new SampleContext({ answers: { "elicitation/create": () => asked.promise } });
    const calling = pair.client.callTool("echo", {}, context);
    // Seen several times before anybody answers.
    await pair.server.until((server) => server.asked("tasks/get").length > 3);
    asked.resolve(accept());
    assert.deepEqual(await calling, DONE);
    assert.equal(context.asked.length, 1);
    assert.deepEqual(answer, { who: accept() });
    assert.equal(pair.server.asked("tasks/update").length, 1);
  });

  it("cancels the task when its caller cancels", async () => {
    covers("mcp.tasks-extension.client-cancel");
    await using pair = await ClientPair.connect(tasking([working()]));
    const context = new SampleContext();
    const calling = pair.client.callTool("echo", {}, context);
    await pair.server.until((server) => server.asked("tasks/get").length > 0);
    context.abort.abort(new Error("changed my mind"));
    await assert.rejects(calling, /changed my mind/);
    await pair.server.until((server) => server.asked("tasks/cancel").length === 1);
    assert.equal(pair.server.asked("tasks/cancel")[0]?.["params"].taskId, "t1");
    assert.equal(pair.client.callsInFlight, 0);
  });

  it("cancels the task if its caller cannot be asked", async () => {
    const asking = working({
      status: "input_required",
      inputRequests: { model: { method: "sampling/createMessage", params: {} } },
    });
    await using pair = await ClientPair.connect(tasking([asking]));
    const calling = pair.client.callTool("echo", {}, new SampleContext());
    await assert.rejects(calling, /does not support sampling\/createMessage/);
    await pair.server.until((server) => server.asked("tasks/cancel").length === 1);
  });

  it("accepts the result of a task that did not wait for the answer", async () => {
    const asking = working({
      status: "input_required",
      inputRequests: { who: { method: "roots/list" } },
    });
    let isOver = false;
    const script = tasking([], {
      "tasks/get": () => (isOver ? completed : asking),
      "tasks/update": () => {
        isOver = true;
        throw new Refusal(-32602, "the task is over");
      },
    });
    await using pair = await ClientPair.connect(script);
    const context = new SampleContext({ answers: { "roots/list": () => ({ roots: [] }) } });
    assert.deepEqual(await pair.client.callTool("echo", {}, context), DONE);
  });

  it("rejects if the server accepts no answer", async () => {
    const asking = working({
      status: "input_required",
      inputRequests: { who: { method: "roots/list" } },
    });
    const script = tasking([asking], {
      "tasks/update": () => {
        throw new Refusal(-32601, "Method not found");
      },
    });
    await using pair = await ClientPair.connect(script);
    const context = new SampleContext({ answers: { "roots/list": () => ({ roots: [] }) } });
    await assert.rejects(pair.client.callTool("echo", {}, context), /Method not found/);
    await pair.server.until((server) => server.asked("tasks/cancel").length === 1);
  });

  it("rejects with the task's error", async () => {
    const error = { code: -32077, message: "out of paper", data: { tray: 2 } };
    await using pair = await ClientPair.connect(tasking([working({ status: "failed", error })]));
    await assert.rejects(pair.client.callTool("echo", {}, new SampleContext()), (failure) => {
      assert.ok(failure instanceof RpcError);
      assert.deepEqual({ ...error }, pick(failure));
      return true;
    });
    assert.equal(pair.server.asked("tasks/cancel").length, 0);
  });

  for (const [what, looks, expected] of [
    [
      "cancels it",
      [working({ status: "cancelled", statusMessage: "too late" })],
      /was cancelled: too late/,
    ],
    ["has no result", [working({ status: "completed" })], /is completed without a result/],
    ["forgets it", [new Refusal(-32602, "no such task")], /no such task/],
  ] as const) {
    it(`rejects if the server ${what}`, async () => {
      await using pair = await ClientPair.connect(tasking(looks));
      await assert.rejects(pair.client.callTool("echo", {}, new SampleContext()), expected);
      assert.equal(pair.client.callsInFlight, 0);
    });
  }

  it("rejects if the task has no id", async () => {
    const script: Script = { ...MODERN, "tools/call": () => ({ resultType: "task", taskId: 7 }) };
    await using pair = await ClientPair.connect(script);
    const calling = pair.client.callTool("echo", {}, new SampleContext());
    await assert.rejects(calling, /the server's task has no 'taskId'/);
  });

  it("polls once if the task has already ended", async () => {
    const script = tasking([completed], {
      "tools/call": () => ({ resultType: "task", ...working({ status: "completed" }) }),
    });
    await using pair = await ClientPair.connect(script);
    assert.deepEqual(await pair.client.callTool("echo", {}, new SampleContext()), DONE);
    assert.equal(pair.server.asked("tasks/get").length, 1);
  });

  it("survives polls that fail for a while, but not for ever", async () => {
    const busy = new Refusal(-32000, "answered 503", { status: 503 });
    await using well = await ClientPair.connect(tasking([busy, busy, completed]));
    assert.deepEqual(await well.client.callTool("echo", {}, new SampleContext()), DONE);
    await using ill = await ClientPair.connect(tasking([busy]));
    await assert.rejects(ill.client.callTool("echo", {}, new SampleContext()), /answered 503/);
    assert.equal(ill.server.asked("tasks/get").length, 6);
  });

  it("rejects at once when the server dies, however long the poll interval is", async () => {
    const script = tasking([working()], {
      "tools/call": () => ({ resultType: "task", ...working({ pollIntervalMs: 60_000 }) }),
    });
    await using pair = await ClientPair.connect(script);
    const calling = pair.client.callTool("echo", {}, new SampleContext());
    await pair.server.until((server) => listensTo(server, "t1"));
    pair.server.die();
    await assert.rejects(calling, { code: "closed" });
  });

  it("ends a task that never stops asking", async () => {
    let looks = 0;
    const script = tasking([], {
      "tasks/get": () => {
        const inputRequests = Object.fromEntries(
          Array.from({ length: 90 }, (_, index) => [`${looks}-${index}`, { method: "roots/list" }]),
        );
        looks++;
        return working({ status: "input_required", inputRequests });
      },
    });
    await using pair = await ClientPair.connect(script);
    const context = new SampleContext({ answers: { "roots/list": () => ({ roots: [] }) } });
    const calling = pair.client.callTool("echo", {}, context);
    await assert.rejects(calling, /asked over 200 times/);
    await pair.server.until((server) => server.asked("tasks/cancel").length === 1);
  });

  it("does not wait for its next poll if the server notifies it", async () => {
    const script = tasking([working({ pollIntervalMs: 60_000 })], {
      "tools/call": () => ({ resultType: "task", ...working({ pollIntervalMs: 60_000 }) }),
      "subscriptions/listen": ({ notifications }, server) => {
        if (notifications.taskIds === undefined) return SILENCE;
        server.notify("notifications/subscriptions/acknowledged", { notifications });
        return SILENCE;
      },
    });
    await using pair = await ClientPair.connect(script);
    const calling = pair.client.callTool("echo", {}, new SampleContext());
    // What happened before it listened is not told, so it looks once.
    await pair.server.until((server) => server.asked("tasks/get").length === 1);
    pair.server.notify("notifications/tasks", { ...completed, taskId: "another's" });
    pair.server.notify("notifications/tasks", completed);
    assert.deepEqual(await calling, DONE);
    assert.equal(pair.server.asked("tasks/get").length, 1);
  });
});

describe("McpClient.callTool() as a task, at a server of 2025-11-25", () => {
  const task = { taskId: "t1", status: "working", ttl: 60_000 };
  const done = Promise.withResolvers<void>();
  const script: Script = {
    ...LEGACY,
    "tools/call": ({ task: asked }) => (asked === undefined ? DONE : { task }),
    "tasks/result": async (_, server) => {
      const progressToken: unknown = server.asked("tools/call")[0]?.["params"]._meta.progressToken;
      server.notify("notifications/progress", { progressToken, progress: 3, total: 9 });
      const status = { ...task, statusMessage: "nearly there" };
      server.notify("notifications/tasks/status", status);
      server.notify("notifications/tasks/status", { ...status, taskId: "another's" });
      await done.promise;
      return { ...DONE, _meta: { "io.modelcontextprotocol/related-task": { taskId: "t1" } } };
    },
    "tasks/cancel": () => task,
  };

  it("returns the result of the task, and reports its progress until then", async () => {
    covers("mcp.tasks.client");
    await using pair = await ClientPair.connect(script);
    const context = new SampleContext();
    const calling = pair.client.callTool("echo", {}, context, { isTask: true });
    await pair.server.until((server) => server.asked("tasks/result").length === 1);
    done.resolve();
    assert.deepEqual(await calling, DONE);
    assert.deepEqual(context.progressed, [
      [3, 9, undefined],
      [4, undefined, "nearly there"],
    ]);
    assert.equal(pair.client.callsInFlight, 0);
  });

  it("cancels the task when its caller cancels", async () => {
    await using pair = await ClientPair.connect({ ...script, "tasks/result": () => SILENCE });
    const context = new SampleContext();
    const calling = pair.client.callTool("echo", {}, context, { isTask: true });
    await pair.server.until((server) => server.asked("tasks/result").length === 1);
    context.abort.abort(new Error("changed my mind"));
    await assert.rejects(calling, /changed my mind/);
    await pair.server.until((server) => server.asked("tasks/cancel").length === 1);
    assert.equal(pair.client.callsInFlight, 0);
  });

  it("accepts an immediate answer", async () => {
    await using pair = await ClientPair.connect({ ...script, "tools/call": () => DONE });
    const answer = await pair.client.callTool("echo", {}, new SampleContext(), { isTask: true });
    assert.deepEqual(answer, DONE);
  });
});

function cancelledIds(server: ScriptedServer): unknown[] {
  return server.asked("notifications/cancelled").map(({ params }) => (params as Json)["requestId"]);
}

function listensTo(server: ScriptedServer, taskId: string): boolean {
  return server
    .asked("subscriptions/listen")
    .some(({ params }) => (params as Json)["notifications"].taskIds?.includes(taskId) === true);
}

function pick({ code, message, data }: RpcError): Json {
  return { code, message, data };
}

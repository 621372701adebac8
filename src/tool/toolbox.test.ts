import { type StopSignal } from "../base/abort.ts";
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TrunklineError } from "../base/errors.ts";
import { SampleContext, sampleTool } from "../../test/samples/sample-context.ts";
import { echo, textOf, toolbox } from "../../test/samples/sample-toolbox.ts";
import { CannotAsk, textResult, ToolFault, type ToolResult } from "./tool.ts";
import { Toolbox } from "./toolbox.ts";

describe("Toolbox", () => {
  it("waits for an asynchronous tool", async () => {
    const slow = sampleTool("slow", async () => textResult("done"));
    const { box, entries } = toolbox([slow]);
    assert.equal(textOf(await box.call("slow", {}, new SampleContext())), "done");
    assert.equal(entries[0]?.outcome, "ok");
  });

  it("throws for an unknown tool, and records it", async () => {
    const { box, entries } = toolbox([]);
    for (const name of ["nope", "__proto__", "constructor"]) {
      await assert.rejects(() => box.call(name, {}, new SampleContext()), {
        code: "not-found",
        message: `Unknown tool: ${name}`,
      });
    }
    assert.deepEqual(
      entries.map(({ outcome, tool }) => `${outcome} ${tool}`),
      ["refused nope", "refused __proto__", "refused constructor"],
    );
  });

  it("shortens a long name in its message", async () => {
    const { box } = toolbox([]);
    await assert.rejects(
      () => box.call("x".repeat(1_000_000), {}, new SampleContext()),
      (error: Error) => error.message.length < 300,
    );
  });

  it("names the field of a wrong argument", async () => {
    const { box, entries } = toolbox([echo]);
    const context = new SampleContext();
    const wrong = await box.call("echo", { text: 1 }, context);
    assert.equal(wrong.isError, true);
    assert.equal(textOf(wrong), "Invalid arguments for 'echo': 'text' must be string");
    assert.deepEqual(wrong._meta, { "trunkline/fault": "invalid-arguments" });
    const missing = await box.call("echo", {}, context);
    assert.equal(textOf(missing), "Invalid arguments for 'echo': 'text' is missing");
    assert.deepEqual(
      entries.map(({ outcome }) => outcome),
      ["refused", "refused"],
    );
  });

  it("shows the message of an expected failure as the tool's error", async () => {
    const failing = sampleTool("failing", async () => {
      throw new TrunklineError("unavailable", "Cannot reach 'x': it is down");
    });
    const { box, entries, reports } = toolbox([failing]);
    const result = await box.call("failing", {}, new SampleContext());
    assert.deepEqual(result, {
      content: [{ type: "text", text: "Cannot reach 'x': it is down" }],
      isError: true,
    });
    assert.equal(entries[0]?.outcome, "error");
    assert.deepEqual(reports, []);
  });

  for (const isSync of [true, false]) {
    it(`reveals only that there is a bug in ${isSync ? "a sync" : "an async"} tool`, async () => {
      const fault = new Error("password is hunter2");
      const faulty = sampleTool("faulty", () => {
        if (isSync) throw fault;
        return Promise.reject(fault);
      });
      const { box, entries, reports } = toolbox([faulty]);
      const result = await box.call("faulty", {}, new SampleContext());
      assert.equal(textOf(result), "'faulty' failed because of a fault in it");
      assert.doesNotMatch(JSON.stringify([result, entries]), /hunter2|at .*\.ts/);
      assert.deepEqual(reports, [{ event: "tool.fault", tool: "faulty", error: fault }]);
    });
  }

  it("treats an answer that is not a result as a bug, sync or not", async () => {
    for (const answer of [undefined, null, {}, { content: "text" }, Promise.resolve(undefined)]) {
      const odd = sampleTool("odd", () => answer as unknown as ToolResult);
      const { box, entries } = toolbox([odd]);
      const result = await box.call("odd", {}, new SampleContext());
      assert.equal(textOf(result), "'odd' failed because of a fault in it");
      assert.deepEqual(
        entries.map(({ outcome }) => outcome),
        ["error"],
      );
    }
  });

  it("records a result with isError as an error", async () => {
    const failing = sampleTool("failing", () => ({ content: [], isError: true }));
    const { box, entries } = toolbox([failing]);
    await box.call("failing", {}, new SampleContext());
    assert.equal(entries[0]?.outcome, "error");
  });

  for (const thrown of [
    new CannotAsk({ method: "sampling/createMessage" }),
    new ToolFault(-32099, "the other server's error", { its: "data" }),
  ]) {
    it(`passes ${thrown.name} on to the door, and records it`, async () => {
      const { box, entries } = toolbox([
        sampleTool("async", () => Promise.reject(thrown)),
        sampleTool("timed", () => Promise.reject(thrown), { timeout: 1000 }),
      ]);
      const context = new SampleContext();
      await assert.rejects(async () => box.call("async", {}, context), thrown);
      await assert.rejects(async () => box.call("timed", {}, context), thrown);
      assert.deepEqual(
        entries.map(({ outcome, reason }) => [outcome, reason]),
        [
          ["error", thrown.message],
          ["error", thrown.message],
        ],
      );
    });
  }

  it("records a call whose caller has cancelled as cancelled", async () => {
    const context = new SampleContext();
    const waiting = sampleTool("waiting", (_, { signal }) => {
      return new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new Error("stopped")));
      });
    });
    const { box, entries, reports } = toolbox([waiting]);
    const called = box.call("waiting", {}, context);
    // The schema is compiled first.
    await new Promise(setImmediate);
    context.abort.abort();
    assert.equal(textOf(await called), "'waiting' was cancelled");
    assert.equal(entries[0]?.outcome, "cancelled");
    assert.deepEqual(reports, []);
  });

  it("stops a tool that takes too long, even if it ignores that", async () => {
    let signal: StopSignal | undefined;
    const endless = sampleTool(
      "endless",
      (_, context) => {
        ({ signal } = context);
        return new Promise(() => {});
      },
      { timeout: 10 },
    );
    const { box, entries } = toolbox([endless]);
    // No deadline keeps the process alive.
    const alive = setInterval(() => {}, 1000);
    const result = await box.call("endless", {}, new SampleContext());
    clearInterval(alive);
    assert.equal(textOf(result), "'endless' took over 10 ms without progress");
    assert(signal?.reason instanceof TrunklineError);
    assert.equal(signal.reason.code, "timeout");
    assert.equal(entries[0]?.outcome, "error");
  });

  it("stops waiting for a tool with a time limit when its caller cancels", async () => {
    const context = new SampleContext();
    const deaf = sampleTool(
      "deaf",
      () => {
        context.abort.abort(new Error("enough"));
        return new Promise(() => {});
      },
      { timeout: 60_000 },
    );
    const { box, entries } = toolbox([deaf]);
    assert.equal(textOf(await box.call("deaf", {}, context)), "'deaf' was cancelled");
    assert.equal(entries[0]?.outcome, "cancelled");
  });

  it("records who called what, with secrets masked, and how long it took", async () => {
    const { box, entries } = toolbox([sampleTool("open", () => textResult("ok"))]);
    const context = new SampleContext({ session: "s-1", folder: "/srv" });
    await box.call("open", { password: "hunter2", path: "/x", list: [{ api_key: "k" }] }, context);
    const [entry] = entries;
    assert(entry);
    const { time, milliseconds, arguments: args, ...rest } = entry;
    assert.deepEqual(rest, {
      door: "mcp",
      caller: "tester",
      principal: undefined,
      as: undefined,
      client: "mcp tester",
      session: "s-1",
      project: "/srv",
      tool: "open",
      outcome: "ok",
      reason: undefined,
    });
    assert.equal(JSON.stringify(args), '{"password":"•••","path":"/x","list":[{"api_key":"•••"}]}');
    assert.match(time, /^\d{4}-\d\d-\d\dT.*Z$/);
    assert(milliseconds >= 0 && milliseconds < 60_000);
  });

  it("records whose own login a call was made with, and finds no other person's tool", async () => {
    const { box, entries } = toolbox([]);
    const ada = { id: "token a", person: "token ada", scopes: ["tools"] as const };
    for (const person of ["token ada", "token bob", ""]) {
      box.add(sampleTool("mail", () => textResult(person), { person }));
    }
    const caller = { door: "mcp", name: "t", client: "t", principal: ada };
    assert.equal(textOf(await box.call("mail", {}, new SampleContext({ caller }))), "token ada");
    assert.equal(textOf(await box.call("mail", {}, new SampleContext())), "");
    assert.deepEqual(
      entries.map((entry) => entry.as),
      ["token ada", "owner"],
    );
    const nobody = new SampleContext({ caller: { ...caller, principal: { id: "bus x" } } });
    await assert.rejects(box.call("mail", {}, nobody), /Unknown tool/);
    assert.equal(box.get("mail"), undefined);
  });

  it("answers even if the audit fails", async () => {
    const reports: string[] = [];
    const box = new Toolbox({
      audit: {
        record: () => {
          throw new Error("disk");
        },
      },
      report: (event) => reports.push(event),
    });
    box.add(sampleTool("open", () => textResult("ok")));
    assert.equal(textOf(await box.call("open", {}, new SampleContext())), "ok");
    assert.deepEqual(reports, ["audit.failed"]);
  });

  it("announces changes, and removes a tool", async () => {
    const { box } = toolbox([]);
    let told = 0;
    box.onChange(() => told++);
    const remove = box.add(echo);
    assert.equal(box.get("echo"), echo);
    await Promise.resolve();
    remove();
    await Promise.resolve();
    assert.equal(told, 2);
    assert.deepEqual(box.list(), []);
  });

  it("tells a server of a task that was cancelled before the server was there", async () => {
    const arrived = Promise.withResolvers<void>();
    let isThere = false;
    const sources = {
      known: () => undefined,
      arrival: () => (isThere ? undefined : arrived.promise),
      missing: () => [],
    };
    const box = new Toolbox({ sources });
    const context = new SampleContext();
    const remote = { tool: "slow", server: "far", taskId: "there-1" };
    const resumed = box.resume(remote, context);
    context.abort.abort(new Error("The task was cancelled"));
    await new Promise(setImmediate);
    const told: unknown[] = [];
    box.add({
      ...sampleTool("slow", () => textResult("called again")),
      source: { server: "far", name: "slow" },
      resume: async (taskId, { signal }) => {
        told.push([taskId, signal.aborted]);
        throw signal.reason;
      },
    });
    isThere = true;
    arrived.resolve();
    assert.equal((await resumed).isError, true);
    assert.deepEqual(told, [["there-1", true]]);
  });
});

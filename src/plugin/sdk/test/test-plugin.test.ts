import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Returned } from "../definition.ts";
import { definePlugin } from "../define-plugin.ts";
import { type PluginHarness, testPlugin, type TestPluginOptions } from "./test-plugin.ts";
import { ToolError } from "../tool-error.ts";

const about = { id: "sample", version: "1.0.0" };

/** A plugin of one tool, which returns what it is given. */
async function returning(value: unknown): Promise<PluginHarness> {
  const tools = { tool: { description: "", call: () => value as Returned } };
  return testPlugin(definePlugin({ ...about, tools }));
}

async function throwing(error: unknown, options?: TestPluginOptions): Promise<PluginHarness> {
  const call = (): never => {
    throw error;
  };
  return testPlugin(
    definePlugin({ ...about, tools: { tool: { description: "", call } } }),
    options,
  );
}

describe("a tool that is called", () => {
  it("answers with a text", async () => {
    await using harness = await returning("Grüße, 世界 🌍");
    const expected = {
      text: "Grüße, 世界 🌍",
      content: [{ type: "text", text: "Grüße, 世界 🌍" }],
    };
    assert.deepEqual(await harness.call("tool"), expected);
  });

  it("answers with an object as structured content", async () => {
    await using harness = await returning({ lines: 3, nested: { list: [1, null, "x"] } });
    const { text, structured } = await harness.call("tool");
    assert.deepEqual(structured, { lines: 3, nested: { list: [1, null, "x"] } });
    assert.deepEqual(JSON.parse(text), structured);
  });

  it("answers with an object whose text is shown to people", async () => {
    await using harness = await returning({ text: "3 lines", lines: 3 });
    const { text, structured } = await harness.call("tool");
    assert.equal(text, "3 lines");
    assert.deepEqual(structured, { lines: 3 });
  });

  it("answers with a full result", async () => {
    const image = { type: "image", data: "AAAA", mimeType: "image/png" };
    await using harness = await returning({ content: [{ type: "text", text: "see" }, image] });
    assert.deepEqual((await harness.call("tool")).content, [{ type: "text", text: "see" }, image]);
  });

  it("answers with a list, and with undefined", async () => {
    await using list = await returning([1, 2]);
    assert.deepEqual((await list.call("tool")).structured, [1, 2]);
    await using nothing = await returning(undefined);
    assert.equal((await nothing.call("tool")).text, "");
  });

  it("answers later with what it promises, in whatever way it does", async () => {
    await using promise = await returning(Promise.resolve("later"));
    assert.equal((await promise.call("tool")).text, "later");
    const later = Promise.resolve({ text: "taken" });
    // As promises of other libraries are.
    const foreign = new Map([["then", later.then.bind(later)]]);
    await using other = await returning(Object.fromEntries(foreign));
    assert.equal((await other.call("tool")).text, "taken");
    const failure = Promise.reject(new ToolError("busy", "not now"));
    failure.catch(() => {});
    await using failing = await returning(failure);
    await assert.rejects(failing.call("tool"), { code: "busy", message: "not now" });
  });

  it("names the part of an answer that is not JSON", async () => {
    await using harness = await returning({ when: { at: new Date() } });
    await assert.rejects(harness.call("tool"), {
      code: "handler_error",
      message: /'result\.when\.at' is an object of a class/,
    });
  });

  it("fails with a full result that has isError", async () => {
    await using harness = await returning({
      content: [{ type: "text", text: "no" }],
      isError: true,
    });
    await assert.rejects(harness.call("tool"), { code: "tool_error", message: "no" });
  });

  it("fails with the message of what it throws, which is logged", async () => {
    const lines: string[] = [];
    await using harness = await throwing(new Error("no such file"), {
      log: (line) => lines.push(line),
    });
    await assert.rejects(harness.call("tool"), { code: "handler_error", message: "no such file" });
    assert.ok(lines.some((line) => line.includes("plugin.tool-failed")));
  });

  it("fails with the code and details of a ToolError", async () => {
    await using harness = await throwing(new ToolError("not_found", "no such note", { id: 7 }));
    await assert.rejects(harness.call("tool"), {
      code: "not_found",
      message: "no such note",
      details: { id: 7 },
    });
  });

  it("fails with anything that is thrown", async () => {
    await using harness = await throwing("just a text");
    await assert.rejects(harness.call("tool"), { code: "handler_error", message: "just a text" });
  });

  it("is not called with arguments that its schema refuses, and the field is named", async () => {
    let calls = 0;
    const plugin = definePlugin({
      ...about,
      tools: {
        tool: {
          description: "",
          input: {
            type: "object",
            properties: { name: { type: "string" }, size: { type: "integer", minimum: 1 } },
            required: ["name"],
            additionalProperties: false,
          },
          call: () => void calls++,
        },
      },
    });
    await using harness = await testPlugin(plugin);
    for (const [args, message] of [
      [{}, /'name' is missing/],
      [{ name: 5 }, /'name' must be string/],
      [{ name: "a", size: 0 }, /'size' must be >= 1/],
      [{ name: "a", typo: 1 }, /'typo' is not known/],
    ] as const) {
      await assert.rejects(harness.call("tool", args), { code: "validation_error", message });
    }
    assert.equal(calls, 0);
    await harness.call("tool", { name: "a", size: 1 });
    assert.equal(calls, 1);
  });

  it("is reported as unknown if it does not exist, also for names that every object inherits", async () => {
    await using harness = await returning("");
    for (const name of ["other", "constructor", "__proto__", ""]) {
      await assert.rejects(harness.call(name), { code: "tool_not_found" });
    }
  });

  it("gets its caller, and keeps `this`", async () => {
    const plugin = definePlugin({
      ...about,
      tools: {
        tool: {
          description: "",
          call(_args, { caller }) {
            return `${caller} ${String(Object.keys(this))}`;
          },
        },
      },
    });
    await using harness = await testPlugin(plugin);
    assert.equal((await harness.call("tool")).text, "test description,call");
  });
});

describe("the test harness", () => {
  it("has storage with versions", async () => {
    const plugin = definePlugin({
      ...about,
      tools: {
        add: {
          description: "",
          call: async ({ line }, { storage }) => {
            const before = await storage.read("log.md");
            const version = await storage.write(
              "log.md",
              `${before?.text ?? ""}${String(line)}\n`,
              {
                version: before?.version ?? 0,
                metadata: { last: line },
              },
            );
            return { version };
          },
        },
        clear: {
          description: "",
          call: async (_, { storage }) => ({ was: await storage.delete("log.md") }),
        },
      },
    });
    await using harness = await testPlugin(plugin);
    await harness.call("add", { line: "one" });
    assert.deepEqual((await harness.call("add", { line: "two" })).structured, { version: 2 });
    const stored = await harness.storage.read("log.md");
    assert.equal(stored?.text, "one\ntwo\n");
    assert.deepEqual(stored?.metadata, { last: "two" });
    assert.deepEqual(
      (await harness.storage.list()).map(({ path, size }) => ({ path, size })),
      [{ path: "log.md", size: 8 }],
    );
    await assert.rejects(harness.storage.write("log.md", "", { version: 1 }), {
      code: "storage_error",
      message: /expected version 1, but it is at version 2/,
    });
    assert.equal(await harness.storage.write("log.md", "whatever was there"), 3);
    assert.deepEqual((await harness.call("clear")).structured, { was: true });
    assert.deepEqual((await harness.call("clear")).structured, { was: false });
    assert.equal(await harness.storage.read("log.md"), undefined);
  });

  it("has tools of other plugins, which answer or fail", async () => {
    const plugin = definePlugin({
      ...about,
      tools: {
        ask: {
          description: "",
          call: async ({ name }, { callTool }) => (await callTool(String(name), { n: 2 })).text,
        },
      },
    });
    await using harness = await testPlugin(plugin, {
      tools: {
        double: ({ n }) => String(Number(n) * 2),
        broken: () => {
          throw new ToolError("out_of_paper", "No paper");
        },
      },
    });
    assert.equal((await harness.call("ask", { name: "double" })).text, "4");
    await assert.rejects(harness.call("ask", { name: "broken" }), { code: "out_of_paper" });
    await assert.rejects(harness.call("ask", { name: "missing" }), { code: "tool_not_found" });
  });

  it("delivers events that match the filters, and records published ones", async () => {
    const plugin = definePlugin({
      ...about,
      events: {
        saved: async ({ type, payload, source }, { publish }) => {
          await publish("indexed", "done", { file: payload.file, type, source });
        },
        built: {
          filters: { project: "web" },
          handle: (_, { publish }) => publish("seen", "built"),
        },
        broken: () => {
          throw new Error("cannot handle this");
        },
      },
    });
    await using harness = await testPlugin(plugin);
    await harness.publish("saved", "file", { file: "a.ts" });
    await harness.publish("built", "ok", { project: "api" });
    await harness.publish("built", "ok", { project: "web" });
    await harness.publish("of no interest", "x");
    assert.deepEqual(harness.published, [
      {
        topic: "indexed",
        type: "done",
        payload: { file: "a.ts", type: "file", source: "test" },
        source: "sample",
      },
      { topic: "seen", type: "built", payload: {}, source: "sample" },
    ]);
    await assert.rejects(harness.publish("broken", "x"), { message: "cannot handle this" });
  });

  it("gets prompts", async () => {
    const plugin = definePlugin({
      ...about,
      prompts: {
        review: {
          description: "Reviews",
          arguments: { file: { required: true }, tone: { description: "How" } },
          get: ({ file, tone = "kind" }) => `Review ${file} in a ${tone} way`,
        },
        talk: {
          get: () => [
            { role: "user", text: "Hi" },
            { role: "assistant", text: "Hello" },
          ],
        },
      },
    });
    await using harness = await testPlugin(plugin);
    assert.deepEqual(await harness.prompt("review", { file: "a.ts" }), [
      { role: "user", text: "Review a.ts in a kind way" },
    ]);
    assert.equal((await harness.prompt("talk")).length, 2);
    await assert.rejects(harness.prompt("review"), { message: "'file' is missing" });
    await assert.rejects(harness.prompt("other"), { code: "prompt_not_found" });
  });

  it("boots the plugin, checks its health and shuts it down", async () => {
    const seen: string[] = [];
    const plugin = definePlugin({
      ...about,
      boot: ({ greeting }) => void seen.push(`boot ${greeting}`),
      health: () => ({ status: "degraded", message: "slow", details: { queue: "12" } }),
      shutdown: () => void seen.push("shutdown"),
    });
    await using harness = await testPlugin(plugin, { config: { greeting: "Hi" } });
    const health = { status: "degraded", message: "slow", details: { queue: "12" } };
    assert.deepEqual(await harness.health(), health);
    assert.equal(await harness.shutdown(), true);
    assert.deepEqual(seen, ["boot Hi", "shutdown"]);
  });

  it("reports why it cannot boot", async () => {
    const boot = async (): Promise<never> => {
      throw new Error("no API key");
    };
    await assert.rejects(testPlugin(definePlugin({ ...about, boot })), { message: /no API key/ });
  });

  it("aborts running calls when it ends", async () => {
    const started = Promise.withResolvers<void>();
    const plugin = definePlugin({
      ...about,
      tools: {
        wait: {
          description: "",
          call: (_, { signal }) => {
            started.resolve();
            return new Promise((_resolve, reject) => {
              signal.addEventListener("abort", () => reject(signal.reason as Error));
            });
          },
        },
      },
    });
    const harness = await testPlugin(plugin);
    const call = harness.call("wait");
    await started.promise;
    const rejected = assert.rejects(call, { message: /shutting down/ });
    await harness[Symbol.asyncDispose]();
    await rejected;
  });
});

describe("testPlugin()", () => {
  it("refuses an object that definePlugin did not create", async () => {
    const fake = { id: "x", manifest: definePlugin(about).manifest };
    await assert.rejects(testPlugin(fake), { code: "usage", message: /definePlugin/ });
  });
});

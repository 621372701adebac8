import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { ToolResult } from "../tool/tool.ts";
import { AppWithUpstreams } from "../../test/upstream/app-with-upstreams.ts";
import { SampleContext } from "../../test/upstream/sample-context.ts";
import { ECHO, LEGACY, Scripts } from "../../test/upstream/scripted-server.ts";

const QUICK = { firstWait: 5, longestWait: 20, rest: 40, firstList: 20_000, gather: 5 };

async function callText(app: AppWithUpstreams, name: string, args = {}): Promise<string> {
  const result = await app.offer.tools.call(name, args, new SampleContext());
  return textOf(result);
}

function textOf(result: ToolResult): string {
  return `${result.isError === true ? "ERROR " : ""}${String(result.content[0]?.text)}`;
}

describe("Upstreams keep up with a server", () => {
  it("that changes its tools, with few lists however often it says so", async () => {
    let names = ["one"];
    let lists = 0;
    const scripts = new Scripts({
      a: {
        ...LEGACY,
        "tools/list": () => (lists++, { tools: names.map((name) => ({ ...ECHO, name })) }),
      },
    });
    await using app = new AppWithUpstreams({
      open: scripts.open,
      limits: { ...QUICK, gather: 50 },
    });
    await app.configure({ a: { command: "a" } });
    const kept = app.offer.tools.get("one");
    names = ["one", "two"];
    const changed = new Promise<void>((resolve) => app.offer.tools.onChange(resolve));
    for (let time = 0; time < 500; time++) {
      scripts.of("a")[0]?.notify("notifications/tools/list_changed");
    }
    await changed;
    assert.deepEqual(app.toolNames, ["one", "two"]);
    assert.equal(app.offer.tools.get("one"), kept);
    assert.ok(lists <= 3, `listed ${lists} times`);
  });

  it("that declares capabilities it lacks and lists invalid tools", async () => {
    const scripts = new Scripts({
      a: {
        ...LEGACY,
        initialize: () => ({
          protocolVersion: "2025-11-25",
          capabilities: { tools: {}, prompts: {}, resources: {} },
        }),
        "tools/list": () => ({
          tools: [null, 7, {}, { name: "" }, { name: "bare" }, { name: "odd", inputSchema: [] }],
        }),
        "tools/call": () => ({ content: "nothing of the kind" }),
      },
    });
    await using app = new AppWithUpstreams({ open: scripts.open, limits: QUICK });
    await app.configure({ a: { command: "a" } });
    assert.deepEqual(app.toolNames, ["bare", "odd"]);
    assert.deepEqual(app.offer.tools.get("odd")?.definition.inputSchema, { type: "object" });
    const result = await app.offer.tools.call("bare", {}, new SampleContext());
    assert.equal(result.isError, true);
    assert.match(String(result.content[0]?.text), /malformed/);
    assert.deepEqual(await app.offer.resources.list(), []);
    assert.deepEqual(app.offer.prompts.list(), []);
  });

  it("that floods it with unrequested messages", async () => {
    const scripts = new Scripts({ a: LEGACY });
    await using app = new AppWithUpstreams({ open: scripts.open, limits: QUICK });
    await app.configure({ a: { command: "a" } });
    const [server] = scripts.of("a");
    for (let time = 0; time < 1000; time++) {
      server?.write({ jsonrpc: "2.0", id: `no-${time}`, result: {} });
      server?.notify("notifications/progress", { progressToken: time, progress: 1 });
      server?.notify("notifications/message", { level: "emergency", data: "!" });
      server?.notify("notifications/made-up", {});
    }
    assert.equal(await callText(app, "echo", { text: "still" }), "still");
  });
});

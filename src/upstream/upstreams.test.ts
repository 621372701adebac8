import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Tool, ToolResult } from "../tool/tool.ts";
import { AppWithUpstreams } from "../../test/upstream/app-with-upstreams.ts";
import { SampleContext } from "../../test/upstream/sample-context.ts";
import {
  ECHO,
  LEGACY,
  type Script,
  Scripts,
  SILENCE,
  Refusal,
} from "../../test/upstream/scripted-server.ts";
import { covers } from "../../test/support/requirement.ts";

const QUICK = { firstWait: 5, longestWait: 20, rest: 40, firstList: 20_000, gather: 5 };

async function callText(app: AppWithUpstreams, name: string, args = {}): Promise<string> {
  const result = await app.offer.tools.call(name, args, new SampleContext());
  return textOf(result);
}

function textOf(result: ToolResult): string {
  return `${result.isError === true ? "ERROR " : ""}${String(result.content[0]?.text)}`;
}

describe("Upstreams start a server", () => {
  it("without waiting long for a slow one, whose tools are announced when they are known", async () => {
    const slow = Promise.withResolvers<void>();
    const scripts = new Scripts({
      fast: LEGACY,
      slow: {
        ...LEGACY,
        "tools/list": async () => {
          await slow.promise;
          return { tools: [{ ...ECHO, name: "late" }] };
        },
      },
    });
    await using app = new AppWithUpstreams({
      open: scripts.open,
      limits: { ...QUICK, firstList: 1_000 },
    });
    await app.configure({ slow: { command: "slow" }, fast: { command: "fast" } });
    assert.deepEqual(app.toolNames, ["echo"]);
    const changed = new Promise<void>((resolve) => app.offer.tools.onChange(resolve));
    slow.resolve();
    await changed;
    assert.deepEqual(app.toolNames, ["late", "echo"]);
  });
});

describe("Upstreams name", () => {
  const tools = (...names: string[]): Script => ({
    ...LEGACY,
    "tools/list": () => ({ tools: names.map((name) => ({ ...ECHO, name })) }),
    "tools/call": ({ name }) => ({ content: [{ type: "text", text: `called ${name}` }] }),
  });

  it("tools as their servers do, and with the server's name if two are the same", async () => {
    covers("mcp.tools.aggregate-names");
    const scripts = new Scripts({ a: tools("x", "y"), b: tools("y", "z"), c: tools("y") });
    await using app = new AppWithUpstreams(scripts);
    await app.configure({ a: { command: "a" }, "b b": { command: "b" }, c: { command: "c" } });
    assert.deepEqual(app.toolNames, ["x", "y", "b_b_y", "z", "c_y"]);
    assert.equal(await callText(app, "b_b_y"), "called y");
    assert.equal(scripts.of("b")[0]?.asked("tools/call").length, 1);
  });

  it("our own tools first, and none twice", async () => {
    const scripts = new Scripts({ a: tools("own", "own", "a_own") });
    await using app = new AppWithUpstreams(scripts);
    const own: Tool = {
      definition: { ...ECHO, name: "own" },
      call: () => ({ content: [] }),
    };
    app.offer.tools.add(own);
    await app.configure({ a: { command: "a" } });
    assert.deepEqual(app.toolNames, ["own", "a_own", "a_a_own"]);
    assert.equal(app.offer.tools.get("own"), own);
  });

  it("no tool longer than 128 characters", async () => {
    covers("mcp.tools.names");
    const long = "l".repeat(128);
    const scripts = new Scripts({ a: tools(long), b: tools(long), c: tools(long) });
    await using app = new AppWithUpstreams(scripts);
    const command = (name: string) => ({ command: name });
    const server = "s".repeat(40);
    await app.configure({
      a: command("a"),
      [server]: command("b"),
      [`${server}2`]: command("c"),
    });
    assert.deepEqual(
      app.toolNames.map(({ length }) => length),
      [128, 128, 128],
    );
    assert.equal(new Set(app.toolNames).size, 3);
  });
});

describe("Upstreams keep up with a server", () => {
  it("that is watched, also after it was restarted", async () => {
    const scripts = new Scripts({
      a: {
        ...LEGACY,
        initialize: () => ({
          protocolVersion: "2025-11-25",
          capabilities: { tools: {}, resources: { subscribe: true } },
        }),
        "resources/list": () => ({ resources: [{ uri: "x://1", name: "one" }] }),
        "resources/templates/list": () => ({ resourceTemplates: [{ uriTemplate: "x://t/{id}" }] }),
        "resources/subscribe": () => ({}),
        "resources/unsubscribe": () => ({}),
        "resources/read": ({ uri }) => {
          if (String(uri).startsWith("x:")) return { contents: [{ uri, text: "read" }] };
          throw new Refusal(-32002, "Resource not found", { uri });
        },
      },
    });
    await using app = new AppWithUpstreams({ open: scripts.open, limits: QUICK });
    await app.configure({ a: { command: "a" } });
    await app.offer.resources.list();
    let updates = 0;
    const stop = app.offer.resources.watch("x://1", () => updates++);
    const first = await scripts.start("a", 1);
    await first.until((server) => server.asked("resources/subscribe").length === 1);
    first.die();
    const second = await scripts.start("a", 2);
    await second.until((server) => server.asked("resources/subscribe").length === 1);
    second.notify("notifications/resources/updated", { uri: "x://1" });
    const read = await app.offer.resources.read("x://t/9", new SampleContext());
    assert.deepEqual(read, { contents: [{ uri: "x://t/9", text: "read" }] });
    assert.equal(updates, 1);
    stop();
    await second.until((server) => server.asked("resources/unsubscribe").length === 1);
    assert.equal(await app.offer.resources.read("y://other", new SampleContext()), undefined);
  });
});

const named = (name: string): Script => ({
  ...LEGACY,
  "tools/list": () => ({ tools: [{ ...ECHO, name }] }),
});

describe("Upstreams offer a tool", () => {
  it("in a form that clients can read, however its server describes it", async () => {
    const wrong = { name: "wrong", description: null, inputSchema: { type: "string" } };
    const bare = { name: "bare", inputSchema: null };
    const scripts = new Scripts({
      a: { ...LEGACY, "tools/list": () => ({ tools: [wrong, bare] }) },
    });
    await using app = await new AppWithUpstreams(scripts).configure({ a: { command: "a" } });
    assert.deepEqual(
      app.offer.tools.list().map(({ definition }) => definition),
      [
        { name: "wrong", inputSchema: { type: "object" } },
        { name: "bare", inputSchema: { type: "object" } },
      ],
    );
  });
});

describe("Upstreams.configure()", () => {
  it("changes only what is different", async () => {
    const scripts = new Scripts({ a: named("a"), b: named("b"), b2: named("b"), c: named("c") });
    await using app = new AppWithUpstreams({ open: scripts.open, limits: QUICK });
    await app.configure({ a: { command: "a" }, b: { command: "b" } });
    const kept = app.offer.tools.get("a");
    const gone = app.offer.tools.get("b");
    await app.configure({ c: { command: "c" }, a: { command: "a" }, b: { command: "b2" } });
    assert.deepEqual(app.toolNames, ["c", "a", "b"]);
    assert.equal(app.offer.tools.get("a"), kept);
    assert.notEqual(app.offer.tools.get("b"), gone);
    assert.equal(scripts.of("a").length, 1);
    await scripts.of("b")[0]?.left;
    await app.configure({ a: { command: "a" } });
    assert.deepEqual(app.toolNames, ["a"]);
    await scripts.of("b2")[0]?.left;
    await scripts.of("c")[0]?.left;
  });

  it("takes a name that is no text", async () => {
    const scripts = new Scripts({ a: named("a") });
    await using app = new AppWithUpstreams({ open: scripts.open, limits: QUICK });
    await app.configure({ "\ud800": { command: "a" } });
    assert.deepEqual(app.toolNames, ["a"]);
  });

  it("goes on with the next table after one that it could not apply", async () => {
    const scripts = new Scripts({ a: named("a") });
    await using app = new AppWithUpstreams({ open: scripts.open, limits: QUICK });
    const bad = {
      get command(): string {
        throw new Error("unreadable");
      },
    };
    await assert.rejects(app.upstreams.configure({ bad }), /unreadable/);
    await app.configure({ a: { command: "a" } });
    assert.deepEqual(app.toolNames, ["a"]);
  });

  it("starts a server anew when a person wants that, and leaves the others alone", async () => {
    const scripts = new Scripts({ a: named("a"), b: named("b") });
    await using app = new AppWithUpstreams({ open: scripts.open, limits: QUICK });
    await app.configure({ a: { command: "a" }, b: { command: "b" } });
    const [before] = scripts.of("a");
    await app.upstreams.restart("a");
    await before?.left;
    assert.equal(scripts.of("a").length, 2);
    assert.equal(scripts.of("b").length, 1);
    assert.deepEqual(app.toolNames, ["a", "b"]);
    await assert.rejects(app.upstreams.restart("none"), /There is no MCP server 'none'/);
  });

  it("ends a call of a removed server, with an error", async () => {
    const scripts = new Scripts({ a: { ...LEGACY, "tools/call": () => SILENCE } });
    await using app = new AppWithUpstreams({ open: scripts.open, limits: QUICK });
    await app.configure({ a: { command: "a" } });
    const calling = callText(app, "echo");
    await scripts.of("a")[0]?.until((server) => server.asked("tools/call").length === 1);
    await app.configure({});
    assert.match(await calling, /^ERROR MCP server 'a' ended before it had answered/);
  });

  it("stops a server that is just being started", async () => {
    const scripts = new Scripts({
      a: { "server/discover": () => SILENCE, initialize: () => SILENCE },
    });
    await using app = new AppWithUpstreams({
      open: scripts.open,
      limits: { ...QUICK, firstList: 5 },
    });
    await app.configure({ a: { command: "a" } });
    const server = await scripts.start("a");
    await app.configure({});
    await server.left;
  });
});

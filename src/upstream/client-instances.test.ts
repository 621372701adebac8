import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { until } from "../../test/support/until.ts";
import { AppWithUpstreams } from "../../test/upstream/app-with-upstreams.ts";
import { SampleContext } from "../../test/upstream/sample-context.ts";
import { LEGACY, type Script, Scripts, SILENCE } from "../../test/upstream/scripted-server.ts";
import { META } from "../protocol/mcp/meta.ts";
import type { ToolResult } from "../tool/tool.ts";

const inputSchema = { type: "object" };
const ASKED = { method: "elicitation/create", params: { message: "Who?" } };

/** A server that asks with each call of `ask`, and counts the calls of `count`. */
function asking(): Script {
  let count = 0;
  return {
    ...LEGACY,
    "tools/list": () => ({
      tools: [
        { name: "ask", inputSchema },
        { name: "look", inputSchema, annotations: { readOnlyHint: true } },
        { name: "count", inputSchema },
      ],
    }),
    "tools/call": async ({ name }, server) => {
      if ((name as unknown) === "count") return text(String(++count));
      const { result, error } = await server.request(ASKED.method, ASKED.params);
      if (error !== undefined) return { ...text(String(error.message)), isError: true };
      return text(String(result?.content?.name));
    },
  };
}

function text(said: string): ToolResult {
  return { content: [{ type: "text", text: said }] };
}

/** A client that answers with its name, or when it is told to. */
function client(name: string, answer: Promise<unknown> = Promise.resolve()): SampleContext {
  return new SampleContext({
    name,
    answers: {
      "elicitation/create": () => answer.then(() => ({ action: "accept", content: { name } })),
      "roots/list": () => ({ roots: [{ uri: `file:///${name}` }] }),
    },
  });
}

async function call(app: AppWithUpstreams, tool: string, context: SampleContext): Promise<string> {
  const { content } = await app.offer.tools.call(tool, {}, context);
  return String(content[0]?.text);
}

const A = { a: { command: "a" } };
const OWN = { a: { command: "a", instance: "client" as const } };

describe("an upstream with an instance for each client", { timeout: 600_000 }, () => {
  it("keeps the state of its clients apart, and ends with them", async () => {
    const scripts = new Scripts({ a: asking });
    await using app = await new AppWithUpstreams(scripts).configure(OWN);
    const [one, two] = [client("one"), client("two")];
    for (const number of ["1", "2"]) {
      assert.equal(await call(app, "count", one), number);
      assert.equal(await call(app, "count", two), number);
    }
    assert.equal(scripts.of("a").length, 2, "the first client has the instance that was listed");
    assert.equal(app.upstreams.status()[0]?.instances, 2);
    app.offer.clients.gone("two");
    await scripts.of("a")[1]?.left;
    app.offer.clients.gone("one");
    await scripts.of("a")[0]?.left;
    assert.equal(await call(app, "count", client("three")), "1");
    assert.equal(scripts.of("a").length, 3);
  });

  it("ends instances that are not used, and those that are too many", async () => {
    const scripts = new Scripts({ a: asking });
    const limits = { instances: 1, instanceIdle: 60_000 };
    await using app = await new AppWithUpstreams({ open: scripts.open, limits }).configure(OWN);
    for (const name of ["one", "two", "three"]) await call(app, "count", client(name));
    await scripts.of("a")[1]?.left;
    const open = Promise.withResolvers<void>();
    const asked = call(app, "ask", client("three", open.promise));
    await scripts.of("a")[2]?.until((server) => server.asked("tools/call").length === 2);
    assert.match(await call(app, "count", client("four")), /'a' is busy: 1 clients/);
    open.resolve();
    assert.equal(await asked, "three");

    const idle = new Scripts({ a: asking });
    const short = { instanceIdle: 1 };
    await using other = await new AppWithUpstreams({ open: idle.open, limits: short }).configure(
      OWN,
    );
    for (const name of ["one", "two"]) await call(other, "count", client(name));
    await idle.of("a")[1]?.left;
  });

  it("starts it again for what another client wanted of the one that has ended", async () => {
    const asked = Promise.withResolvers<void>();
    let times = 0;
    const scripts = new Scripts({
      a: {
        ...asking(),
        initialize: () => ({
          protocolVersion: "2025-11-25",
          capabilities: { tools: {}, prompts: {}, completions: {} },
        }),
        "prompts/list": () => ({ prompts: [{ name: "p", arguments: [{ name: "who" }] }] }),
        "completion/complete": () => {
          asked.resolve();
          return ++times === 1 ? SILENCE : { completion: { values: ["Ann"] } };
        },
      },
    });
    await using app = await new AppWithUpstreams(scripts).configure(OWN);
    await call(app, "count", client("one"));
    const completion = app.offer.prompts.get("p")?.complete?.({ name: "who", value: "A" });
    await asked.promise;
    app.offer.clients.gone("one");
    assert.deepEqual((await completion)?.values, ["Ann"]);
  });

  it("asks the owner what belongs to no call", async () => {
    const scripts = new Scripts({ a: asking });
    await using app = await new AppWithUpstreams(scripts).configure(OWN);
    for (const [at, name] of ["one", "two"].entries()) {
      await call(app, "count", client(name));
      const { result } = (await scripts.of("a")[at]?.request("roots/list")) ?? {};
      assert.deepEqual(result, { roots: [{ uri: `file:///${name}` }] });
    }
  });
});

describe("a shared upstream that asks", { timeout: 600_000 }, () => {
  it("stays shared for one client", async () => {
    const scripts = new Scripts({ a: asking });
    await using app = await new AppWithUpstreams(scripts).configure(A);
    assert.equal(await call(app, "ask", client("one")), "one");
    assert.equal(await call(app, "ask", client("one")), "one");
    assert.equal(app.upstreams.status()[0]?.instance, "shared");
  });

  it("does not hold up other clients until it has its answer", async () => {
    const scripts = new Scripts({ a: asking });
    await using app = await new AppWithUpstreams(scripts).configure(A);
    const open = Promise.withResolvers<void>();
    const one = client("one", open.promise);
    const first = call(app, "ask", one);
    await until(() => one.asked.length > 0);
    assert.equal(await call(app, "ask", client("two")), "two");
    assert.equal(scripts.of("a").length, 2);
    open.resolve();
    assert.equal(await first, "one");
    const [status] = app.upstreams.status();
    assert.equal(status?.instance, "client");
    assert.equal(status.isSwitched, true);
    assert.ok(app.log.some((line) => line.includes("upstream.instance-per-client")));
  });

  it("answers a call of a client that shared it with another, which has it now and leaves", async () => {
    const begun = Promise.withResolvers<void>();
    const open = Promise.withResolvers<void>();
    const execution = { taskSupport: "required" };
    const scripts = new Scripts({
      a: {
        ...LEGACY,
        "tools/list": () => ({
          tools: [
            { name: "job", inputSchema, execution },
            { name: "slow", inputSchema },
          ],
        }),
        "tools/call": async ({ name }) => {
          if ((name as unknown) === "job") return { task: { taskId: "t1", status: "working" } };
          begun.resolve();
          await open.promise;
          return text("slow");
        },
        "tasks/result": () => SILENCE,
      },
    });
    await using app = await new AppWithUpstreams(scripts).configure(A);
    const [one, two] = [client("one"), client("two")];
    const job = call(app, "job", one);
    const slow = call(app, "slow", two);
    await begun.promise;
    const server = await scripts.start("a");
    await server.until((each) => each.asked("tasks/result").length === 1);
    await server.request(ASKED.method, {
      ...ASKED.params,
      _meta: { [META.relatedTask]: { taskId: "t1" } },
    });
    assert.equal(one.asked.length, 1);
    one.abort.abort(new Error("gone"));
    app.offer.clients.gone("one");
    await job;
    open.resolve();
    assert.equal(await slow, "slow");
    await server.left;
  });

  it("says so also to a client that was alone when it called", async () => {
    const begun = Promise.withResolvers<void>();
    const open = Promise.withResolvers<void>();
    const { "tools/call": answer, ...more } = asking();
    const scripts = new Scripts({
      a: {
        ...more,
        "tools/call": async (params, server) => {
          if ((params.name as unknown) === "count") return SILENCE;
          begun.resolve();
          await open.promise;
          return answer?.(params, server) ?? SILENCE;
        },
      },
    });
    await using app = await new AppWithUpstreams(scripts).configure(A);
    const [one, two] = [client("one"), client("two")];
    const [asks, looks] = [call(app, "ask", one), call(app, "look", one)];
    await begun.promise;
    const never = call(app, "count", two).catch(() => {});
    const server = await scripts.start("a");
    await server.until((each) => each.asked("tools/call").length === 3);
    open.resolve();
    assert.match(await asks, /'a' asked a question while several clients were using it.*call the/);
    assert.equal(await looks, "one");
    two.abort.abort(new Error("enough"));
    await never;
  });

  it("asks nobody where two may be meant: repeats what is harmless, and says what to do", async () => {
    const scripts = new Scripts({ a: asking });
    await using app = await new AppWithUpstreams(scripts).configure(A);
    const [one, two] = [client("one"), client("two")];
    for (const each of [one, two]) await call(app, "count", each);
    const both = await Promise.all([call(app, "ask", one), call(app, "look", two)]);
    assert.match(
      both[0] ?? "",
      /'a' asked a question while several clients were using it.*call the/,
    );
    assert.equal(both[1], "two");
    assert.deepEqual([one.asked.length, two.asked.length], [0, 1]);
    assert.equal(await call(app, "ask", one), "one");
  });
});

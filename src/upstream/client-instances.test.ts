import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { HouseOfUpstreams } from "../../test/upstream/house-of-upstreams.ts";
import { SampleContext } from "../../test/upstream/sample-context.ts";
import { LEGACY, type Script, Scripts } from "../../test/upstream/scripted-server.ts";
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

async function call(
  house: HouseOfUpstreams,
  tool: string,
  context: SampleContext,
): Promise<string> {
  const { content } = await house.offer.tools.call(tool, {}, context);
  return String(content[0]?.text);
}

const A = { a: { command: "a" } };
const OWN = { a: { command: "a", instance: "client" as const } };

describe("an upstream with an instance for each client", { timeout: 20_000 }, () => {
  it("keeps the state of its clients apart, and ends with them", async () => {
    const scripts = new Scripts({ a: asking });
    await using house = await new HouseOfUpstreams(scripts).configure(OWN);
    const [one, two] = [client("one"), client("two")];
    for (const number of ["1", "2"]) {
      assert.equal(await call(house, "count", one), number);
      assert.equal(await call(house, "count", two), number);
    }
    assert.equal(scripts.of("a").length, 2, "the first client has the instance that was listed");
    assert.equal(house.upstreams.status()[0]?.instances, 2);
    house.offer.clients.gone("two");
    await scripts.of("a")[1]?.left;
    house.offer.clients.gone("one");
    await scripts.of("a")[0]?.left;
    assert.equal(await call(house, "count", client("three")), "1");
    assert.equal(scripts.of("a").length, 3);
  });

  it("ends instances that are not used, and those that are too many", async () => {
    const scripts = new Scripts({ a: asking });
    const limits = { instances: 1, instanceIdle: 60_000 };
    await using house = await new HouseOfUpstreams({ open: scripts.open, limits }).configure(OWN);
    for (const name of ["one", "two", "three"]) await call(house, "count", client(name));
    await scripts.of("a")[1]?.left;
    const open = Promise.withResolvers<void>();
    const asked = call(house, "ask", client("three", open.promise));
    await scripts.of("a")[2]?.until((server) => server.asked("tools/call").length === 2);
    assert.match(await call(house, "count", client("four")), /'a' is busy: 1 clients/);
    open.resolve();
    assert.equal(await asked, "three");

    const idle = new Scripts({ a: asking });
    const short = { instanceIdle: 1 };
    await using other = await new HouseOfUpstreams({ open: idle.open, limits: short }).configure(
      OWN,
    );
    for (const name of ["one", "two"]) await call(other, "count", client(name));
    await idle.of("a")[1]?.left;
  });

  it("asks the owner what belongs to no call", async () => {
    const scripts = new Scripts({ a: asking });
    await using house = await new HouseOfUpstreams(scripts).configure(OWN);
    for (const [at, name] of ["one", "two"].entries()) {
      await call(house, "count", client(name));
      const { result } = (await scripts.of("a")[at]?.request("roots/list")) ?? {};
      assert.deepEqual(result, { roots: [{ uri: `file:///${name}` }] });
    }
  });
});

describe("a shared upstream that asks", { timeout: 20_000 }, () => {
  it("stays shared for one client", async () => {
    const scripts = new Scripts({ a: asking });
    await using house = await new HouseOfUpstreams(scripts).configure(A);
    assert.equal(await call(house, "ask", client("one")), "one");
    assert.equal(await call(house, "ask", client("one")), "one");
    assert.equal(house.upstreams.status()[0]?.instance, "shared");
  });

  it("does not hold up other clients until it has its answer", async () => {
    const scripts = new Scripts({ a: asking });
    await using house = await new HouseOfUpstreams(scripts).configure(A);
    const open = Promise.withResolvers<void>();
    const one = client("one", open.promise);
    const first = call(house, "ask", one);
    while (one.asked.length === 0) await new Promise(setImmediate);
    assert.equal(await call(house, "ask", client("two")), "two");
    assert.equal(scripts.of("a").length, 2);
    open.resolve();
    assert.equal(await first, "one");
    const [status] = house.upstreams.status();
    assert.equal(status?.instance, "client");
    assert.equal(status.isSwitched, true);
    assert.ok(house.log.some((line) => line.includes("upstream.instance-per-client")));
  });

  it("asks nobody where two may be meant: repeats what is harmless, and says what to do", async () => {
    const scripts = new Scripts({ a: asking });
    await using house = await new HouseOfUpstreams(scripts).configure(A);
    const [one, two] = [client("one"), client("two")];
    for (const each of [one, two]) await call(house, "count", each);
    const both = await Promise.all([call(house, "ask", one), call(house, "look", two)]);
    assert.match(
      both[0] ?? "",
      /'a' asked a question while several clients were using it.*call the/,
    );
    assert.equal(both[1], "two");
    assert.deepEqual([one.asked.length, two.asked.length], [0, 1]);
    assert.equal(await call(house, "ask", one), "one");
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ToolFault, type ToolResult } from "../tool/tool.ts";
import { HouseOfUpstreams } from "../../test/upstream/house-of-upstreams.ts";
import { RawClient } from "../../test/upstream/raw-client.ts";
import { SampleContext } from "../../test/upstream/sample-context.ts";
import {
  ECHO,
  LEGACY,
  MODERN,
  Refusal,
  type Script,
  Scripts,
  SILENCE,
} from "../../test/upstream/scripted-server.ts";

const QUICK = { firstWait: 5, longestWait: 20, rest: 40, firstList: 200, gather: 5 };

async function callText(house: HouseOfUpstreams, name: string, args = {}): Promise<string> {
  const result = await house.offer.tools.call(name, args, new SampleContext());
  return textOf(result);
}

function textOf(result: ToolResult): string {
  return `${result.isError === true ? "ERROR " : ""}${String(result.content[0]?.text)}`;
}

describe("Upstreams answer a call", () => {
  /** Tools by name that are annotated so; a call waits until the server is told to die. */
  const dying = (annotations: object): Script => {
    let starts = 0;
    return {
      ...LEGACY,
      initialize: (params, server) => (starts++, LEGACY["initialize"]?.(params, server)),
      "tools/list": () => ({ tools: [{ ...ECHO, annotations }] }),
      "tools/call": (_, server) => {
        if (starts > 1) return { content: [{ type: "text", text: "second time" }] };
        server.die();
        return SILENCE;
      },
    };
  };

  it("with an error, and do not repeat it, when the server dies over it", async () => {
    const scripts = new Scripts({ a: dying({ destructiveHint: true }) });
    await using house = new HouseOfUpstreams({ open: scripts.open, limits: QUICK });
    await house.configure({ a: { command: "a" } });
    const text = await callText(house, "echo");
    assert.match(text, /^ERROR MCP server 'a' ended before it had answered/);
    await scripts.start("a", 2);
    await until(house, "up");
    assert.equal(scripts.of("a")[1]?.asked("tools/call").length, 0);
    assert.equal(await callText(house, "echo"), "second time");
  });

  for (const hint of ["readOnlyHint", "idempotentHint"]) {
    it(`by asking the restarted server once more, when the tool has ${hint}`, async () => {
      const scripts = new Scripts({ a: dying({ [hint]: true }) });
      await using house = new HouseOfUpstreams({ open: scripts.open, limits: QUICK });
      await house.configure({ a: { command: "a" } });
      assert.equal(await callText(house, "echo"), "second time");
      assert.equal(house.upstreams.status()[0]?.restarts, 1);
    });
  }

  it("at once with an error while the server is down, and others as ever", async () => {
    const scripts = new Scripts({
      a: LEGACY,
      b: { ...LEGACY, "tools/list": () => ({ tools: [{ ...ECHO, name: "b" }] }) },
    });
    await using house = new HouseOfUpstreams({
      open: scripts.open,
      limits: { ...QUICK, firstWait: 60_000, longestWait: 60_000 },
    });
    await house.configure({ a: { command: "a" }, b: { command: "b" } });
    scripts.of("a")[0]?.die();
    await until(house, "waiting");
    assert.match(
      await callText(house, "echo"),
      /^ERROR MCP server 'a' is down and will be started/,
    );
    assert.equal(await callText(house, "b", { text: "fine" }), "fine");
    assert.deepEqual(house.toolNames, ["echo", "b"]);
  });

  it("with the server's own error, code and data included", async () => {
    const scripts = new Scripts({
      a: {
        ...LEGACY,
        "tools/call": () => {
          throw new Refusal(-32042, "Look at a page first", { elicitations: [{ url: "x" }] });
        },
      },
    });
    await using house = new HouseOfUpstreams(scripts);
    await house.configure({ a: { command: "a" } });
    const calling = house.offer.tools.call("echo", {}, new SampleContext());
    await assert.rejects(Promise.resolve(calling), (error) => {
      assert.ok(error instanceof ToolFault);
      assert.equal(error.code, -32042);
      assert.deepEqual(error.data, { elicitations: [{ url: "x" }] });
      return true;
    });
  });

  it("of a server of 2026-07-28 that asks, through a client of 2025-06-18", async () => {
    const scripts = new Scripts({
      a: {
        ...MODERN,
        "tools/call": ({ inputResponses }) =>
          inputResponses === undefined
            ? {
                resultType: "input_required",
                inputRequests: {
                  name: {
                    method: "elicitation/create",
                    params: { mode: "form", message: "Who?", requestedSchema: { type: "object" } },
                  },
                },
              }
            : {
                resultType: "complete",
                content: [{ type: "text", text: `Hello ${inputResponses.name.content.name}` }],
              },
      },
    });
    await using house = await new HouseOfUpstreams(scripts).configure({ a: { command: "a" } });
    await using client = await RawClient.connect(house.door, {
      revision: "2025-11-25",
      capabilities: { elicitation: {} },
      answers: { "elicitation/create": () => ({ action: "accept", content: { name: "Ann" } }) },
    });
    const { result } = await client.callTool("echo");
    assert.deepEqual(result, { content: [{ type: "text", text: "Hello Ann" }] });
    assert.equal(client.asked[0]?.["params"].message, "Who?");
  });
});

describe("Upstreams leave a server alone", () => {
  it("after five failures in a row, and try it again after a rest", async () => {
    let isWell = false;
    const scripts = new Scripts({
      a: () => (isWell ? LEGACY : { "server/discover": (_, server) => (server.die(), SILENCE) }),
    });
    await using house = new HouseOfUpstreams({
      open: scripts.open,
      limits: { ...QUICK, rest: 400 },
    });
    await house.configure({ a: { command: "a" } });
    await until(house, "resting");
    assert.equal(house.upstreams.status()[0]?.failuresInARow, 5);
    assert.ok(house.upstreams.status()[0]?.lastError);
    isWell = true;
    await until(house, "up");
    await house.upstreams.known();
    assert.equal(await callText(house, "echo", { text: "back" }), "back");
    assert.equal(house.upstreams.status()[0]?.failuresInARow, 0);
  });

  it("never for good when it dies now and then", async () => {
    const scripts = new Scripts({ a: LEGACY });
    await using house = new HouseOfUpstreams({ open: scripts.open, limits: QUICK });
    await house.configure({ a: { command: "a" } });
    for (let start = 1; start <= 8; start++) {
      const server = await scripts.start("a", start);
      await until(house, "up");
      assert.equal(await callText(house, "echo", { text: `${start}` }), `${start}`);
      server.die();
      await until(house, "waiting");
    }
  });
});

/** Waits until the first upstream is in a state. */
async function until(house: HouseOfUpstreams, state: string): Promise<void> {
  while (house.upstreams.status()[0]?.state !== state) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
}

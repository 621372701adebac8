import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type ToolResult } from "../tool/tool.ts";
import { until } from "../../test/support/until.ts";
import { HouseOfUpstreams } from "../../test/upstream/house-of-upstreams.ts";
import { SampleContext } from "../../test/upstream/sample-context.ts";
import { LEGACY, Scripts, SILENCE } from "../../test/upstream/scripted-server.ts";

const QUICK = { firstWait: 5, longestWait: 20, rest: 40, firstList: 20_000, gather: 5 };

async function callText(house: HouseOfUpstreams, name: string, args = {}): Promise<string> {
  const result = await house.offer.tools.call(name, args, new SampleContext());
  return textOf(result);
}

function textOf(result: ToolResult): string {
  return `${result.isError === true ? "ERROR " : ""}${String(result.content[0]?.text)}`;
}

/** Waits until the first upstream is in a state. */
async function untilFirstIs(house: HouseOfUpstreams, state: string): Promise<void> {
  await until(() => house.upstreams.status()[0]?.state === state);
}

describe("Upstreams leave a server alone", () => {
  it("after five failures in a row, and try again after a pause", async () => {
    let isWell = false;
    const scripts = new Scripts({
      a: () => (isWell ? LEGACY : { "server/discover": (_, server) => (server.die(), SILENCE) }),
    });
    await using house = new HouseOfUpstreams({
      open: scripts.open,
      limits: { ...QUICK, rest: 400 },
    });
    await house.configure({ a: { command: "a" } });
    await untilFirstIs(house, "resting");
    assert.equal(house.upstreams.status()[0]?.failuresInARow, 5);
    assert.ok(house.upstreams.status()[0]?.lastError);
    isWell = true;
    await untilFirstIs(house, "up");
    await house.upstreams.known();
    assert.equal(await callText(house, "echo", { text: "back" }), "back");
    assert.equal(house.upstreams.status()[0]?.failuresInARow, 0);
  });

  it("never permanently if it dies only now and then", async () => {
    const scripts = new Scripts({ a: LEGACY });
    await using house = new HouseOfUpstreams({ open: scripts.open, limits: QUICK });
    await house.configure({ a: { command: "a" } });
    for (let start = 1; start <= 8; start++) {
      const server = await scripts.start("a", start);
      await untilFirstIs(house, "up");
      assert.equal(await callText(house, "echo", { text: `${start}` }), `${start}`);
      server.die();
      await untilFirstIs(house, "waiting");
    }
  });

  it("never for ends that come long after its starts, also if nobody calls it", async () => {
    const scripts = new Scripts({ a: LEGACY });
    const limits = { ...QUICK, rest: 3_600_000 };
    await using house = new HouseOfUpstreams({ open: scripts.open, limits });
    await house.configure({ a: { command: "a" } });
    for (let start = 1; start <= 6; start++) {
      const server = await scripts.start("a", start);
      await untilFirstIs(house, "up");
      await new Promise((resolve) => setTimeout(resolve, 2 * limits.longestWait));
      server.die();
    }
    await scripts.start("a", 7);
    await untilFirstIs(house, "up");
    assert.equal(house.upstreams.status()[0]?.failuresInARow, 1);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type ToolResult } from "../tool/tool.ts";
import { until } from "../../test/support/until.ts";
import { AppWithUpstreams } from "../../test/upstream/app-with-upstreams.ts";
import { SampleContext } from "../../test/upstream/sample-context.ts";
import { LEGACY, Scripts, SILENCE } from "../../test/upstream/scripted-server.ts";

const QUICK = { firstWait: 5, longestWait: 20, rest: 40, firstList: 20_000, gather: 5 };

async function callText(app: AppWithUpstreams, name: string, args = {}): Promise<string> {
  const result = await app.offer.tools.call(name, args, new SampleContext());
  return textOf(result);
}

function textOf(result: ToolResult): string {
  return `${result.isError === true ? "ERROR " : ""}${String(result.content[0]?.text)}`;
}

/** Waits until the first upstream is in a state. */
async function untilFirstIs(app: AppWithUpstreams, state: string): Promise<void> {
  await until(() => app.upstreams.status()[0]?.state === state);
}

describe("Upstreams leave a server alone", () => {
  it("after five failures in a row, and try again after a pause", async () => {
    let isWell = false;
    const scripts = new Scripts({
      a: () => (isWell ? LEGACY : { "server/discover": (_, server) => (server.die(), SILENCE) }),
    });
    await using app = new AppWithUpstreams({
      open: scripts.open,
      limits: { ...QUICK, rest: 400 },
    });
    await app.configure({ a: { command: "a" } });
    await untilFirstIs(app, "resting");
    assert.equal(app.upstreams.status()[0]?.failuresInARow, 5);
    assert.ok(app.upstreams.status()[0]?.lastError);
    isWell = true;
    await untilFirstIs(app, "up");
    await app.upstreams.known();
    assert.equal(await callText(app, "echo", { text: "back" }), "back");
    assert.equal(app.upstreams.status()[0]?.failuresInARow, 0);
  });

  it("never permanently if it dies only now and then", async () => {
    const scripts = new Scripts({ a: LEGACY });
    await using app = new AppWithUpstreams({ open: scripts.open, limits: QUICK });
    await app.configure({ a: { command: "a" } });
    for (let start = 1; start <= 8; start++) {
      const server = await scripts.start("a", start);
      await untilFirstIs(app, "up");
      assert.equal(await callText(app, "echo", { text: `${start}` }), `${start}`);
      server.die();
      await untilFirstIs(app, "waiting");
    }
  });

  it("never for ends that come long after its starts, also if nobody calls it", async () => {
    const scripts = new Scripts({ a: LEGACY });
    const limits = { ...QUICK, rest: 3_600_000 };
    await using app = new AppWithUpstreams({ open: scripts.open, limits });
    await app.configure({ a: { command: "a" } });
    for (let start = 1; start <= 6; start++) {
      const server = await scripts.start("a", start);
      await untilFirstIs(app, "up");
      await new Promise((resolve) => setTimeout(resolve, 2 * limits.longestWait));
      server.die();
    }
    await scripts.start("a", 7);
    await untilFirstIs(app, "up");
    assert.equal(app.upstreams.status()[0]?.failuresInARow, 1);
  });
});

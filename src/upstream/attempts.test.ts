import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { type ToolResult } from "../tool/tool.ts";
import { until } from "../../test/support/until.ts";
import { AppWithUpstreams } from "../../test/upstream/app-with-upstreams.ts";
import { SampleContext } from "../../test/upstream/sample-context.ts";
import {
  ECHO,
  LEGACY,
  type Script,
  Scripts,
  SILENCE,
} from "../../test/upstream/scripted-server.ts";
import type { OpenLink } from "./link.ts";

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

  it("with an error, without repeating it, if the server dies during it", async () => {
    const scripts = new Scripts({ a: dying({ destructiveHint: true }) });
    await using app = new AppWithUpstreams({ open: scripts.open, limits: QUICK });
    await app.configure({ a: { command: "a" } });
    const text = await callText(app, "echo");
    assert.match(text, /^ERROR MCP server 'a' ended before it had answered/);
    await scripts.start("a", 2);
    await untilFirstIs(app, "up");
    assert.equal(scripts.of("a")[1]?.asked("tools/call").length, 0);
    assert.equal(await callText(app, "echo"), "second time");
  });

  it("with why the server died, however long it takes to end what it left", async () => {
    const scripts = new Scripts({ a: dying({ destructiveHint: true }) });
    const open: OpenLink = async (...args) => {
      const link = await scripts.open(...args);
      const end = (): Promise<void> => sleep(1_000).then(() => link.end());
      return { ...link, ended: Promise.resolve("exited with code 3"), end };
    };
    await using app = new AppWithUpstreams({ open, limits: QUICK });
    await app.configure({ a: { command: "a" } });
    assert.match(await callText(app, "echo"), /had answered\. It exited with code 3/);
  });

  for (const hint of ["readOnlyHint", "idempotentHint"]) {
    it(`by asking the restarted server once more, if the tool has ${hint}`, async () => {
      const scripts = new Scripts({ a: dying({ [hint]: true }) });
      await using app = new AppWithUpstreams({ open: scripts.open, limits: QUICK });
      await app.configure({ a: { command: "a" } });
      assert.equal(await callText(app, "echo"), "second time");
      assert.equal(app.upstreams.status()[0]?.restarts, 1);
    });
  }

  it("at once with an error while the server is down, and others as usual", async () => {
    const scripts = new Scripts({
      a: LEGACY,
      b: { ...LEGACY, "tools/list": () => ({ tools: [{ ...ECHO, name: "b" }] }) },
    });
    await using app = new AppWithUpstreams({
      open: scripts.open,
      limits: { ...QUICK, firstWait: 60_000, longestWait: 60_000 },
    });
    await app.configure({ a: { command: "a" }, b: { command: "b" } });
    scripts.of("a")[0]?.die();
    await untilFirstIs(app, "waiting");
    assert.match(await callText(app, "echo"), /^ERROR MCP server 'a' is down and will be started/);
    assert.equal(await callText(app, "b", { text: "fine" }), "fine");
    assert.deepEqual(app.toolNames, ["echo", "b"]);
  });
});

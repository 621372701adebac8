import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { HouseOfUpstreams } from "../../test/upstream/house-of-upstreams.ts";
import { RawClient } from "../../test/upstream/raw-client.ts";
import { SampleContext } from "../../test/upstream/sample-context.ts";
import { ECHO, LEGACY, type Script, Scripts } from "../../test/upstream/scripted-server.ts";
import { covers } from "../../test/support/requirement.ts";

const QUICK = { firstWait: 5, longestWait: 20, rest: 40, firstList: 20_000, gather: 5 };

/** A server that does nobody any harm. */
const CALM: Script = { ...LEGACY, "tools/list": () => ({ tools: [{ ...ECHO, name: "calm" }] }) };

async function houseOf(script: Script): Promise<[HouseOfUpstreams, Scripts]> {
  const scripts = new Scripts({ hostile: script, calm: CALM });
  const house = new HouseOfUpstreams({ open: scripts.open, limits: QUICK });
  await house.configure({ hostile: { command: "hostile" }, calm: { command: "calm" } });
  return [house, scripts];
}

async function calmAnswers(house: HouseOfUpstreams): Promise<void> {
  const result = await house.offer.tools.call("calm", { text: "calm" }, new SampleContext());
  assert.equal(result.content[0]?.text, "calm");
}

describe("A hostile upstream", () => {
  it("cannot flood its caller with progress and messages", async () => {
    covers("mcp.logging.rate");
    const [opened] = await houseOf({
      ...LEGACY,
      "tools/call": ({ _meta }, server) => {
        const { progressToken } = _meta;
        for (let progress = 1; progress <= 5_000; progress++) {
          server.notify("notifications/progress", { progressToken, progress });
          server.notify("notifications/message", { level: "error", data: "!" });
        }
        return { content: [] };
      },
    });
    await using house = opened;
    await using client = await RawClient.connect(house.door, { revision: "2025-11-25" });
    await client.callTool("echo", {}, { _meta: { progressToken: 1 } });
    assert.ok(client.told("notifications/progress").length < 500);
    assert.ok(client.told("notifications/message").length < 500);
    assert.ok(client.told("notifications/progress").length > 50);
    // Nor the log.
    assert.ok(house.log.length < 500, `${house.log.length} lines`);
    await calmAnswers(house);
  });

  it("cannot ask its callers without limit", async () => {
    const [opened] = await houseOf({
      ...LEGACY,
      "tools/call": async (_, server) => {
        const questions = Array.from({ length: 1_000 }, () => server.request("roots/list"));
        const refused = (await Promise.race([
          Promise.all(questions.slice(256)),
          new Promise<never>(() => {}),
        ])) as { error?: { message: string } }[];
        return { content: [], refused: refused.filter(({ error }) => error !== undefined).length };
      },
    });
    await using house = opened;
    const context = new SampleContext({ answers: { "roots/list": () => new Promise(() => {}) } });
    const result = await house.offer.tools.call("echo", {}, context);
    assert.equal(result.refused, 1_000 - 256);
    assert.equal(context.asked.length, 256);
    await calmAnswers(house);
  });

  it("cannot be blocked for all by one client that never answers it", async () => {
    let before: Promise<unknown> = Promise.resolve();
    // One call at a time, and each asks first.
    const serial: Script = {
      ...LEGACY,
      "tools/call": ({ arguments: args }, server) => {
        const answer = before.then(async () => {
          const { error } = await server.request("roots/list");
          return { content: [{ type: "text", text: `${args.text}: ${error?.message ?? "ok"}` }] };
        });
        before = answer;
        return answer;
      },
    };
    const scripts = new Scripts({ serial });
    const limits = { ...QUICK, questions: { "roots/list": 100 } };
    await using house = new HouseOfUpstreams({ open: scripts.open, limits });
    await house.configure({ serial: { command: "serial" } });
    const never = new SampleContext({
      name: "never",
      answers: { "roots/list": () => new Promise(() => {}) },
    });
    const silent = house.offer.tools.call("echo", { text: "a" }, never);
    const server = await scripts.start("serial");
    await server.until((it) => it.asked("tools/call").length === 1 && never.asked.length === 1);
    const other = new SampleContext({ name: "other" });
    const result = await house.offer.tools.call("echo", { text: "b" }, other);
    assert.match(String(result.content[0]?.text), /^b: /);
    const said = (await silent).content[0]?.text;
    assert.match(String(said), /^a: .*has not answered 'roots\/list' within 0\.1 s/);
  });

  it("cannot cause endless lists by changing its tools all the time", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    let lists = 0;
    const [opened, scripts] = await houseOf({
      ...LEGACY,
      "tools/list": () => ({ tools: [{ ...ECHO, name: `tool-${++lists}` }] }),
    });
    await using house = opened;
    const server = await scripts.start("hostile");
    // More than three minutes, in which it says ten times in a second that it has changed.
    for (let time = 0; time < 2_000; time++) {
      server.notify("notifications/tools/list_changed");
      await server.request("ping");
      t.mock.timers.tick(100);
    }
    assert.ok(lists > 15, `listed ${lists} times`);
    assert.ok(lists < 120, `listed ${lists} times`);
    await calmAnswers(house);
  });

  it("cannot use unreadable or duplicate names in the list", async () => {
    const names = ["good", "good", "bad\u001B[31m", "zero\u200Bwidth", "", "l".repeat(5_000)];
    const [opened] = await houseOf({
      ...LEGACY,
      initialize: () => ({
        protocolVersion: "2025-11-25",
        capabilities: { tools: {}, prompts: {} },
      }),
      "tools/list": () => ({ tools: names.map((name) => ({ ...ECHO, name })) }),
      "prompts/list": () => ({ prompts: names.map((name) => ({ name })) }),
    });
    await using house = opened;
    const cut = `hostile_${"l".repeat(120)}`;
    assert.deepEqual(house.toolNames, ["good", cut, "calm"]);
    assert.deepEqual(
      house.offer.prompts.list().map(({ definition }) => definition.name),
      ["good", cut],
    );
    assert.match(house.log.join(""), /mcp\.left-out.*unreadable names/);
  });
});

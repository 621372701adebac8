import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AppWithUpstreams } from "../../test/upstream/app-with-upstreams.ts";
import { RawClient } from "../../test/upstream/raw-client.ts";
import { SampleContext } from "../../test/upstream/sample-context.ts";
import { ECHO, LEGACY, type Script, Scripts } from "../../test/upstream/scripted-server.ts";
import { covers } from "../../test/support/requirement.ts";

const QUICK = { firstWait: 5, longestWait: 20, rest: 40, firstList: 20_000, gather: 5 };

/** A server that does nobody any harm. */
const CALM: Script = { ...LEGACY, "tools/list": () => ({ tools: [{ ...ECHO, name: "calm" }] }) };

async function appOf(script: Script): Promise<[AppWithUpstreams, Scripts]> {
  const scripts = new Scripts({ hostile: script, calm: CALM });
  const app = new AppWithUpstreams({ open: scripts.open, limits: QUICK });
  await app.configure({ hostile: { command: "hostile" }, calm: { command: "calm" } });
  return [app, scripts];
}

async function calmAnswers(app: AppWithUpstreams): Promise<void> {
  const result = await app.offer.tools.call("calm", { text: "calm" }, new SampleContext());
  assert.equal(result.content[0]?.text, "calm");
}

describe("A hostile upstream", () => {
  it("cannot flood its caller with progress and messages", async () => {
    covers("mcp.logging.rate");
    const [opened] = await appOf({
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
    await using app = opened;
    await using client = await RawClient.connect(app.door, { revision: "2025-11-25" });
    await client.callTool("echo", {}, { _meta: { progressToken: 1 } });
    assert.ok(client.told("notifications/progress").length < 500);
    assert.ok(client.told("notifications/message").length < 500);
    assert.ok(client.told("notifications/progress").length > 50);
    // Nor the log.
    assert.ok(app.log.length < 500, `${app.log.length} lines`);
    await calmAnswers(app);
  });

  it("cannot ask its callers without limit", async () => {
    const [opened] = await appOf({
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
    await using app = opened;
    const context = new SampleContext({ answers: { "roots/list": () => new Promise(() => {}) } });
    const result = await app.offer.tools.call("echo", {}, context);
    assert.equal(result.refused, 1_000 - 256);
    assert.equal(context.asked.length, 256);
    await calmAnswers(app);
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
    await using app = new AppWithUpstreams({ open: scripts.open, limits });
    await app.configure({ serial: { command: "serial" } });
    const never = new SampleContext({
      name: "never",
      answers: { "roots/list": () => new Promise(() => {}) },
    });
    const silent = app.offer.tools.call("echo", { text: "a" }, never);
    const server = await scripts.start("serial");
    await server.until((it) => it.asked("tools/call").length === 1 && never.asked.length === 1);
    const other = new SampleContext({ name: "other" });
    const result = await app.offer.tools.call("echo", { text: "b" }, other);
    assert.match(String(result.content[0]?.text), /^b: /);
    const said = (await silent).content[0]?.text;
    assert.match(String(said), /^a: .*has not answered 'roots\/list' within 0\.1 s/);
  });

  it("cannot cause endless lists by changing its tools all the time", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    let lists = 0;
    const [opened, scripts] = await appOf({
      ...LEGACY,
      "tools/list": () => ({ tools: [{ ...ECHO, name: `tool-${++lists}` }] }),
    });
    await using app = opened;
    const server = await scripts.start("hostile");
    // More than three minutes, in which it says ten times in a second that it has changed.
    for (let time = 0; time < 2_000; time++) {
      server.notify("notifications/tools/list_changed");
      await server.request("ping");
      t.mock.timers.tick(100);
    }
    assert.ok(lists > 15, `listed ${lists} times`);
    assert.ok(lists < 120, `listed ${lists} times`);
    await calmAnswers(app);
  });

  it("cannot use unreadable or duplicate names in the list", async () => {
    const names = ["good", "good", "bad\u001B[31m", "zero\u200Bwidth", "", "l".repeat(5_000)];
    const [opened] = await appOf({
      ...LEGACY,
      initialize: () => ({
        protocolVersion: "2025-11-25",
        capabilities: { tools: {}, prompts: {} },
      }),
      "tools/list": () => ({ tools: names.map((name) => ({ ...ECHO, name })) }),
      "prompts/list": () => ({ prompts: names.map((name) => ({ name })) }),
    });
    await using app = opened;
    const cut = `hostile_${"l".repeat(120)}`;
    assert.deepEqual(app.toolNames, ["good", cut, "calm"]);
    assert.deepEqual(
      app.offer.prompts.list().map(({ definition }) => definition.name),
      ["good", cut],
    );
    assert.match(app.log.join(""), /mcp\.left-out.*unreadable names/);
  });
});

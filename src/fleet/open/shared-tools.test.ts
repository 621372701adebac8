import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleContext } from "../../../test/samples/sample-context.ts";
import { FleetOfApps } from "../../../test/support/fleet-of-apps.ts";
import { noNats } from "../../../test/support/nats-server.ts";
import { until } from "../../../test/support/until.ts";
import { textResult } from "../../tool/tool.ts";
import type { Principal } from "../../base/principal.ts";

describe("SharedTools", { skip: noNats }, () => {
  it("lets one node call the tools of another, under its policy and for the same caller", async () => {
    await using rig = await FleetOfApps.start();
    await using a = await rig.node("a", { x: ["x"] }, [{ tool: "x_read", decision: "deny" }]);
    await using b = await rig.node("b", { y: ["y"] });
    await until(() => a.names.includes("y_do") && b.names.includes("x_do"));
    assert.match(await b.call("x_do", { message: "hello" }), /^\d+ hello$/);
    // The policy of the node that has the tool.
    assert.match(await b.call("x_read", { message: "secret" }), /policy/);
    // What the token of the caller allows.
    const scoped = { id: "token:1", name: "ci", scopes: ["tools"], limits: { tools: ["x_do"] } };
    const called = await b.call("x_do", { message: "as ci" }, scoped as Principal);
    assert.match(called, /as ci$/);
    assert.match(await b.call("x_read", {}, scoped as Principal), /may not use/);
    assert.deepEqual(rig.recorded("x"), ["hello", "as ci"]);
    await until(() => a.audit.filter(({ tool }) => tool === "x_do").length >= 2);
    const audited = a.audit.filter(({ tool, outcome }) => tool === "x_do" && outcome === "ok");
    assert.deepEqual(
      audited.map(({ principal, caller }) => [principal ?? "", caller]),
      [
        ["", "tester"],
        ["token:1", "ci"],
      ],
    );
  });

  it("offers no tools of a third node, and renames those with equal names", async () => {
    await using rig = await FleetOfApps.start();
    await using a = await rig.node("a", { x: ["same"] });
    await using b = await rig.node("b", { x: ["same"] });
    await using c = await rig.node("c", {});
    await until(() => c.names.includes("b_same_do") && c.names.includes("same_do"));
    await until(() => a.names.includes("b_same_do") && b.names.includes("a_same_do"));
    assert.deepEqual(
      c.names.filter((name) => name.endsWith("_do")),
      ["same_do", "b_same_do"],
    );
    // A client cannot say that it is somebody else.
    const context = new SampleContext({ caller: { principal: LIMITED } });
    Object.assign(context.meta, { "trunkline.dev/caller": { principal: { id: "" } } });
    await c.tools.offer.tools.call("b_same_do", { message: "m" }, context);
    await until(() => b.audit.some(({ principal }) => principal === LIMITED.id));
  });

  it("passes progress and questions of a plugin's tool on to the caller", async () => {
    await using rig = await FleetOfApps.start();
    await using a = await rig.node("a", {});
    await using b = await rig.node("b", {});
    const question = {
      method: "elicitation/create",
      params: { message: "Really?", requestedSchema: { type: "object", properties: {} } },
    };
    a.tools.offer.tools.add({
      definition: { name: "ask", inputSchema: { type: "object" } },
      bringer: "a plugin",
      call: async (_args, context) => {
        context.progress(1, 2, "half");
        const answer = (await context.ask(question)) as { action: string };
        return textResult(`${context.caller.name} in ${context.folder}: ${answer.action}`);
      },
    });
    await until(() => b.names.includes("ask"));
    const context = new SampleContext({
      folder: "/project",
      answer: () => ({ action: "decline" }),
    });
    const { content } = await b.tools.offer.tools.call("ask", {}, context);
    assert.equal(content[0]?.text, "tester in /project: decline");
    assert.deepEqual(
      context.asked.map(({ params }) => params?.message),
      ["Really?"],
    );
    assert.ok(JSON.stringify(context.told).includes("half"));
  });

  it("takes the tools of a node away that leaves, and says so to a call", async () => {
    await using rig = await FleetOfApps.start();
    await using a = await rig.node("a", {});
    {
      await using _b = await rig.node("b", { y: ["y"] });
      await until(() => a.names.includes("y_do"));
      const waiting = a.call("y_do", { message: "slow", wait: 60_000 });
      await until(() => rig.recorded("y").includes("slow"));
      void waiting.then((text) => rig.said.push(text));
    }
    await until(() => !a.names.includes("y_do"));
    await until(() => rig.said.length > 0);
    assert.match(rig.said[0] ?? "", /'b'/);
  });
});

const LIMITED: Principal = { id: "token:2", scopes: ["tools"] };

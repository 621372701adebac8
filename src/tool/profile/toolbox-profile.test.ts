import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleContext, sampleTool } from "../../../test/samples/sample-context.ts";
import { echo, textOf, toolbox } from "../../../test/samples/sample-toolbox.ts";
import { Offer } from "../offer/offer.ts";
import { errorResult, textResult, type ToolContext } from "../tool.ts";
import type { ProfileSettings } from "../../config/schema/schema.gen.ts";
import { Profile } from "./profile.ts";

const remove = sampleTool("remove", () => textResult("removed"), {
  source: { server: "files", name: "remove" },
});

/** A caller with a profile. */
function caller(settings: ProfileSettings, answer?: () => unknown): SampleContext & ToolContext {
  const context = new SampleContext(answer === undefined ? {} : { answer });
  return Object.assign(context, { profile: new Profile("p", settings) });
}

const namesFor = (box: ReturnType<typeof toolbox>["box"], context: ToolContext): string[] =>
  box.listFor(context).map(({ definition }) => definition.name);

describe("a toolbox, for a caller with a profile", () => {
  it("neither lists nor calls what the profile does not show, and does not say that it is there", async () => {
    const { box, entries } = toolbox([echo, remove]);
    const context = caller({ tools: { deny: ["remove"] } });
    assert.deepEqual(namesFor(box, context), ["echo"]);
    const unknown = { code: "not-found", message: "Unknown tool: remove" };
    await assert.rejects(() => box.call("remove", {}, context), unknown);
    await assert.rejects(() => box.call("never", {}, context), { message: "Unknown tool: never" });
    assert.equal(entries[0]?.outcome, "refused");
  });

  it("calls a renamed tool by its new name only, and records its own", async () => {
    const { box, entries } = toolbox([echo, remove]);
    const context = caller({ tools: { rename: { echo: "say" } } });
    assert.deepEqual(namesFor(box, context), ["say", "remove"]);
    assert.equal(textOf(await box.call("say", { text: "hi" }, context)), "hi");
    assert.equal(entries[0]?.tool, "echo");
    await assert.rejects(() => box.call("echo", { text: "hi" }, context), /Unknown tool: echo/);
  });

  it("decides by the stricter of policy and profile", async () => {
    const { box } = toolbox([echo, remove], [{ tool: "remove", decision: "deny" }]);
    const allowing = caller({ policy: { rules: [{ tool: "*", decision: "allow" }] } });
    assert.deepEqual(namesFor(box, allowing), ["echo"]);
    assert.match(String(textOf(await box.call("remove", {}, allowing))), /policy does not let/);
    const denying = caller({ policy: { rules: [{ tool: "echo", decision: "deny" }] } });
    assert.deepEqual(namesFor(box, denying), []);
    const asking = caller({ policy: { default: "ask" } }, () => ({ action: "decline" }));
    assert.match(String(textOf(await box.call("echo", { text: "" }, asking))), /not allowed by/);
    assert.equal(asking.asked.length, 1);
  });

  it("goes by a tool's own name where an agent asks about one that it was shown", async () => {
    const { box } = toolbox([echo], [{ tool: "echo", decision: "ask" }]);
    const context = caller({ tools: { rename: { echo: "say" } } });
    const [shown = echo] = box.listFor(context);
    assert.equal(await box.asks(shown, { text: "" }, context), true);
  });

  it("refuses calls that come more often than the profile allows", async () => {
    const { box } = toolbox([echo]);
    const context = caller({ rates: [{ calls: 1, seconds: 60 }] });
    assert.equal(textOf(await box.call("echo", { text: "1" }, context)), "1");
    const refused = await box.call("echo", { text: "2" }, context);
    assert.match(String(textOf(refused)), /^'echo' is called too often: wait \d+ s$/);
  });
});

describe("a toolbox, for a caller whose profile has it search", () => {
  const SEARCH: ProfileSettings = { search: true, tools: { rename: { echo: "say" } } };

  it("lists a tool that searches and names the servers, and one that calls", () => {
    const { box } = toolbox([echo, remove]);
    const [search, call, ...more] = box.listFor(caller(SEARCH));
    assert.equal(search?.definition.name, "search_tools");
    assert.match(search?.definition.description ?? "", /`server verb object`.*trunkline, files/s);
    assert.equal(call?.definition.name, "call_tool");
    assert.deepEqual(more, []);
  });

  it("finds only what the profile shows, with the schema that a call needs", async () => {
    const { box, entries } = toolbox([echo, remove]);
    const context = caller({ ...SEARCH, tools: { deny: ["echo"] } });
    const found = String(
      textOf(await box.call("search_tools", { query: "files remove" }, context)),
    );
    assert.match(found, /"name":"remove","server":"files"/);
    assert.match(found, /"inputSchema":\{"type":"object"\}/);
    const none = await box.call("search_tools", { query: "echo" }, context);
    assert.match(String(textOf(none)), /^No tool fits.*Servers: files\.$/);
    assert.deepEqual(
      entries.map(({ tool, outcome }) => [tool, outcome]),
      [
        ["search_tools", "ok"],
        ["search_tools", "ok"],
      ],
    );
  });

  it("needs no consent to search, but for the tool that is meant", async () => {
    const { box } = toolbox([echo], [{ tool: "*", decision: "ask" }]);
    const context = caller(SEARCH, () => ({ action: "accept" }));
    await box.call("search_tools", { query: "echo" }, context);
    assert.equal(context.asked.length, 0);
    await box.call("call_tool", { name: "say", arguments: { text: "a" } }, context);
    assert.match(String(context.asked[0]?.params?.message), /call 'echo'\?.*"text":"a"/);
  });

  it("calls as if the tool itself were called: policy, schema, record", async () => {
    const { box, entries } = toolbox([echo, remove], [{ tool: "remove", decision: "deny" }]);
    const context = caller(SEARCH);
    const call = async (args: object) => box.call("call_tool", { ...args }, context);
    assert.equal(textOf(await call({ name: "say", arguments: { text: "hi" } })), "hi");
    assert.equal(textOf(await call({ name: "say", arguments: '{"text":"as text"}' })), "as text");
    assert.match(String(textOf(await call({ name: "say" }))), /^Invalid arguments for 'echo'/);
    assert.match(String(textOf(await call({ name: "remove" }))), /policy does not let/);
    assert.deepEqual(
      entries.map(({ tool, outcome }) => [tool, outcome]),
      [
        ["echo", "ok"],
        ["echo", "ok"],
        ["echo", "refused"],
        ["remove", "refused"],
      ],
    );
  });

  it("answers a call that names no known tool in words for a model", async () => {
    const { box } = toolbox([echo]);
    const context = caller(SEARCH);
    const unknown = await box.call("call_tool", { name: "echo" }, context);
    assert.match(
      String(textOf(unknown)),
      /^Unknown tool: echo\. Find the right name with search_tools/,
    );
    assert.equal(unknown.isError, true);
    for (const args of [
      {},
      { name: 1 },
      { name: "say", arguments: [] },
      { name: "say", arguments: "{" },
    ]) {
      assert.match(String(textOf(await box.call("call_tool", args, context))), /^Give `name`/);
    }
    const empty = await box.call("search_tools", { query: " " }, context);
    assert.match(String(textOf(empty)), /^Give `query`/);
  });

  it("still reaches a tool of a server that is called like ours", async () => {
    const theirs = sampleTool("call_tool", () => errorResult("theirs"));
    const { box } = toolbox([theirs]);
    const result = await box.call("call_tool", { name: "call_tool" }, caller({ search: true }));
    assert.equal(textOf(result), "theirs");
  });
});

describe("Offer.profiles", () => {
  it("announces a change of lists when they are replaced", async () => {
    const offer = new Offer();
    const { Profiles } = await import("./profiles.ts");
    const told: string[] = [];
    offer.tools.onChange(() => told.push("tools"));
    offer.prompts.onChange(() => told.push("prompts"));
    offer.resources.onChange(() => told.push("resources"));
    offer.profiles = new Profiles({});
    await Promise.resolve();
    assert.deepEqual(told.toSorted(), ["prompts", "resources", "tools"]);
  });

  it("refuses a client with a profile where there are none to choose from", () => {
    const principal = { id: "token 1", profile: "p" };
    const subject = { door: "http", client: "a", principal };
    assert.throws(() => new Offer().profileFor(subject), /'p' cannot be used here/);
  });
});

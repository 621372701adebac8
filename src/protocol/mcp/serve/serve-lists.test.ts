import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { fixtureOffer } from "../../../../test/conformance/fixture/offer.ts";
import { covers } from "../../../../test/support/requirement.ts";
import { RawClient } from "../../../../test/upstream/raw-client.ts";
import { McpDoor } from "./door.ts";

const LEGACY = { revision: "2025-11-25" } as const;
const MODERN = { revision: "2026-07-28" } as const;
const door = (): McpDoor => new McpDoor({ offer: fixtureOffer() });

describe("resources", () => {
  it("are listed, with templates, and read as text or bytes", async () => {
    covers("mcp.resources.list", "mcp.resources.templates", "mcp.resources.read");
    await using client = await RawClient.connect(door(), LEGACY);
    const { result } = await client.request("resources/list");
    assert.ok(result.resources.some((each: { uri: string }) => each.uri === "test://static-text"));
    const templates = await client.request("resources/templates/list");
    assert.equal(templates["result"].resourceTemplates[0].uriTemplate, "test://template/{id}/data");
    const text = await client.request("resources/read", { uri: "test://static-text" });
    assert.match(text["result"].contents[0].text, /static text/);
    const bytes = await client.request("resources/read", { uri: "test://static-binary" });
    assert.ok(Buffer.from(bytes["result"].contents[0].blob as string, "base64").length > 0);
  });

  it("that do not exist are refused, in each revision with its own code", async () => {
    covers("mcp.resources.not-found", "mcp.modern.resource-not-found");
    const uri = "test://nothing";
    await using legacy = await RawClient.connect(door(), LEGACY);
    const old = await legacy.request("resources/read", { uri });
    assert.equal(old["error"].code, -32002);
    assert.deepEqual(old["error"].data, { uri });
    await using modern = await RawClient.connect(door(), MODERN);
    assert.equal((await modern.request("resources/read", { uri }))["error"].code, -32602);
  });
});

describe("prompts", () => {
  it("are listed, and filled in with their arguments", async () => {
    covers("mcp.prompts.list", "mcp.prompts.get");
    await using client = await RawClient.connect(door(), LEGACY);
    const { result } = await client.request("prompts/list");
    assert.ok(result.prompts.length > 3);
    const name = "test_prompt_with_arguments";
    const got = await client.request("prompts/get", { name, arguments: { arg1: "a", arg2: "b" } });
    assert.match(got["result"].messages[0].content.text, /arg1='a', arg2='b'/);
  });

  it("are refused for an unknown name, and for a missing argument", async () => {
    covers("mcp.prompts.unknown", "mcp.prompts.missing-argument");
    await using client = await RawClient.connect(door(), LEGACY);
    assert.equal((await client.request("prompts/get", { name: "none" }))["error"].code, -32602);
    const name = "test_prompt_with_arguments";
    const { error } = await client.request("prompts/get", { name, arguments: { arg1: "a" } });
    assert.equal(error.code, -32602);
    assert.match(error.message, /'params\.arguments\.arg2' is missing/);
  });

  it("ask in rounds, at 2026-07-28", async () => {
    covers("mcp.mrtr.prompts");
    await using client = await RawClient.connect(door(), {
      ...MODERN,
      capabilities: { elicitation: { form: {} } },
      answers: {
        "elicitation/create": () => ({ action: "accept", content: { context: "tea" } }),
      },
    });
    const got = await client.ask("prompts/get", { name: "test_input_required_result_prompt" });
    assert.equal(got["result"].messages[0].content.text, "Context: tea");
    assert.equal(client.asked.length, 1);
  });
});

describe("completion/complete", () => {
  const argument = { name: "id", value: "12" };

  it("completes arguments of prompts and of templates", async () => {
    covers("mcp.completion.values");
    await using client = await RawClient.connect(door(), LEGACY);
    const template = { type: "ref/resource", uri: "test://template/{id}/data" };
    const found = await client.request("completion/complete", { ref: template, argument });
    assert.deepEqual(found["result"].completion.values, ["123", "124"]);
    const prompt = { type: "ref/prompt", name: "test_simple_prompt" };
    const told = await client.request("completion/complete", {
      ref: prompt,
      argument: { name: "a", value: "test-o" },
    });
    assert.deepEqual(told["result"].completion.values, ["test-one"]);
  });

  it("returns at most a hundred, and none for an unknown reference", async () => {
    covers("mcp.completion.limit");
    const offer = fixtureOffer();
    const values = Array.from({ length: 150 }, (_, index) => `v${index}`);
    offer.prompts.add("many", {
      definition: { name: "many" },
      get: async () => ({ messages: [] }),
      complete: async () => ({ values }),
    });
    await using client = await RawClient.connect(new McpDoor({ offer }), LEGACY);
    const of = async (name: string): Promise<string[]> => {
      const ref = { type: "ref/prompt", name };
      const { result } = await client.request("completion/complete", { ref, argument });
      return result.completion.values as string[];
    };
    assert.deepEqual(await of("many"), values.slice(0, 100));
    assert.deepEqual(await of("none"), []);
  });

  it("refuses a request without an argument", async () => {
    covers("mcp.completion.invalid");
    await using client = await RawClient.connect(door(), LEGACY);
    const ref = { type: "ref/prompt", name: "test_simple_prompt" };
    assert.equal((await client.request("completion/complete", { ref }))["error"].code, -32602);
  });
});

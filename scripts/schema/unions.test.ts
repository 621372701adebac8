import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type Check, describeProblem } from "../../src/base/check.ts";
import { loadChecks } from "./load-checks.ts";

const TEXT = {
  type: "object",
  properties: { type: { const: "text" }, text: { type: "string" } },
  required: ["type", "text"],
};
const IMAGE = {
  type: "object",
  properties: { type: { const: "image" }, data: { type: "string" } },
  required: ["type", "data"],
  additionalProperties: false,
};
const COMMAND = {
  type: "object",
  properties: { command: { type: "string" }, args: { type: "array", items: { type: "string" } } },
  required: ["command"],
  additionalProperties: false,
};
const ADDRESS = {
  type: "object",
  properties: { url: { type: "string" } },
  required: ["url"],
  additionalProperties: false,
};

async function checkOf(It: object): Promise<Check> {
  const check = (await loadChecks({ It, Text: TEXT, Image: IMAGE })).It;
  assert(check !== undefined);
  return check;
}

function say(check: Check, value: unknown): string | undefined {
  const problem = check(value);
  return problem && describeProblem("it", problem);
}

describe("oneOf", () => {
  it("chooses by the tag, and names it when it is wrong", async () => {
    const check = await checkOf({ oneOf: [{ $ref: "#Text" }, IMAGE] });
    assert.equal(say(check, { type: "text", text: "x", more: 1 }), undefined);
    assert.equal(say(check, { type: "image", data: "x" }), undefined);
    assert.equal(say(check, "text"), "'it' must be an object");
    assert.equal(say(check, { text: "x" }), "'it.type' is missing");
    assert.equal(say(check, { type: "video" }), "'it.type' must be one of: text, image");
    assert.equal(say(check, { type: "text" }), "'it.text' is missing");
    assert.equal(say(check, { type: "image", data: 1 }), "'it.data' must be a string");
    assert.equal(say(check, { type: "image", data: "x", dta: 1 }), UNKNOWN_DATA);
  });

  it("is refused when nothing tells the alternatives apart", async () => {
    const schema = { oneOf: [COMMAND, ADDRESS] };
    await assert.rejects(checkOf(schema), /Cannot compile schema 'It': keyword 'oneOf' needs/);
  });
});

describe("anyOf", () => {
  it("chooses by type", async () => {
    const check = await checkOf({ anyOf: [{ type: "string", minLength: 1 }, COMMAND] });
    assert.equal(say(check, "x"), undefined);
    assert.equal(say(check, { command: "x" }), undefined);
    assert.equal(say(check, ""), "'it' must not be empty");
    assert.equal(say(check, { command: "x", args: [1] }), "'it.args[0]' must be a string");
    assert.equal(say(check, 1), "'it' must be a string or an object");
  });

  it("chooses by a tag where there is one", async () => {
    const check = await checkOf({
      anyOf: [{ $ref: "#Text" }, { $ref: "#Image" }, { type: "null" }],
    });
    assert.equal(say(check, null), undefined);
    assert.equal(say(check, { type: "text", text: "x" }), undefined);
    assert.equal(say(check, { type: "image" }), "'it.data' is missing");
    assert.equal(say(check, { type: "video" }), "'it.type' must be one of: text, image");
  });

  it("speaks of the alternative whose required members are there", async () => {
    const check = await checkOf({ anyOf: [COMMAND, ADDRESS] });
    assert.equal(say(check, { command: "x" }), undefined);
    assert.equal(say(check, { url: "x" }), undefined);
    assert.equal(say(check, { url: 1 }), "'it.url' must be a string");
    assert.equal(say(check, { command: "x", args: [1] }), "'it.args[0]' must be a string");
    assert.equal(say(check, { command: "x", url: "x" }), "'it.url' is not a known key");
    assert.equal(
      say(check, { comand: "x" }),
      "'it.comand' is not a known key; did you mean 'command'?",
    );
    assert.equal(say(check, {}), "'it.command' is missing");
  });

  it("lists the values when every alternative is a constant", async () => {
    const check = await checkOf({ anyOf: [{ const: "a", description: "first" }, { const: "b" }] });
    assert.equal(say(check, "b"), undefined);
    assert.equal(say(check, "c"), "'it' must be one of: a, b");
  });

  it("says nothing when one alternative accepts everything", async () => {
    const check = await checkOf({ anyOf: [{ type: "string" }, {}] });
    assert.equal(say(check, 1), undefined);
  });
});

const UNKNOWN_DATA = "'it.dta' is not a known key; did you mean 'data'?";

import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";

import { PromptDefinitionSchema, ToolDefinitionSchema } from "../../protocol/bus/plugin.gen.ts";
import { boundedOffer } from "./introduce.ts";

const tool = (name: string, size = 10) =>
  create(ToolDefinitionSchema, { name, inputSchema: { description: "x".repeat(size) } });
const prompt = (name: string) => create(PromptDefinitionSchema, { name });

describe("boundedOffer()", () => {
  it("takes what has a usual size", () => {
    const offer = boundedOffer([tool("a"), tool("b", 50_000)], [prompt("c")]);
    assert.deepEqual([offer.tools.length, offer.prompts.length, offer.leftOut], [2, 1, []]);
  });

  it("leaves out one that is too long, and says which", () => {
    const offer = boundedOffer([tool("a"), tool("huge", 200_000), tool("b")], []);
    assert.deepEqual(
      offer.tools.map(({ name }) => name),
      ["a", "b"],
    );
    assert.deepEqual(offer.leftOut, ["huge"]);
  });

  it("leaves out what is too much together", () => {
    const many = boundedOffer(
      Array.from({ length: 1_500 }, (_, n) => tool(`t${n}`)),
      [],
    );
    assert.deepEqual([many.tools.length, many.leftOut.length], [1_000, 500]);
    const large = boundedOffer(
      Array.from({ length: 30 }, (_, n) => tool(`t${n}`, 100_000)),
      [],
    );
    assert.deepEqual([large.tools.length, large.leftOut.length], [10, 20]);
  });
});

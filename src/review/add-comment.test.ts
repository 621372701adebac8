import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleRepository } from "../../test/samples/sample-review-repository.ts";

describe("addComment()", () => {
  it("accepts a suggestion block as on forges, if a comment has exactly one", async () => {
    using sample = new SampleRepository();
    sample.write("a", "1\n2\n");
    using commands = await sample.commands();
    const add = async (comment: string, line?: number) => {
      const { id } = await commands.add({ file: "a", line, comment, by: "ada", source: "test" });
      return (await commands.show(id)).suggestion;
    };
    const one = "```suggestion\nzwei\n```";
    assert.deepEqual(await add(`So?\n${one}\nPlease.`, 2), ["zwei"]);
    assert.deepEqual(await add("Away:\r\n```suggestion\r\n```\r\n", 2), []);
    assert.equal(await add(`${one}\nor\n${one}`, 2), undefined);
    assert.equal(await add(one), undefined);
    assert.equal(await add("```suggestion\nthat never ends", 2), undefined);
  });
});

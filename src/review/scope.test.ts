import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { Project } from "../tool/tool.ts";
import { SampleContext } from "../../test/samples/sample-context.ts";
import { commentsIn, inFolder, Reviewing } from "../../test/samples/sample-reviewing.ts";
import { SampleRepository } from "../../test/samples/sample-review-repository.ts";

describe("scopeOf()", () => {
  it("is the repository that the client works in", async () => {
    using elsewhere = new SampleRepository();
    await using reviewing = await Reviewing.begin(undefined, {}, "/");
    await reviewing.add("here");
    const check = async (project: Project, name: string): Promise<string[]> => {
      const context = new SampleContext({ caller: { name } });
      context.project = project;
      return commentsIn(await reviewing.text("check_lazygit_messages", {}, context));
    };
    const { root, parent } = reviewing.sample;
    assert.deepEqual(await check(inFolder(elsewhere.root), "a"), []);
    assert.deepEqual(await check(inFolder(parent), "a"), [], "a root without a repository");
    assert.deepEqual(await check(inFolder(root), "a"), ["here"]);
    const both: Project = { folders: [elsewhere.root, root], source: "roots" };
    assert.deepEqual(await check(both, "b"), ["here"]);
    // Started in a folder that means nothing in particular, or in none.
    assert.deepEqual(await check(inFolder(parent, "folder"), "c"), ["here"]);
    assert.deepEqual(await check({ folders: [] }, "d"), ["here"]);
  });
});

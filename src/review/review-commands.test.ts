import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { NewComment } from "./add-comment.ts";
import type { ReviewCommands } from "./review-commands.ts";
import { sampleLines, SampleRepository } from "../../test/samples/sample-review-repository.ts";
import type { ThreadView } from "./thread-view.ts";

async function add(
  commands: ReviewCommands,
  file: string,
  line?: number,
  more: Partial<NewComment> = {},
): Promise<string> {
  const comment = { file, line, comment: "Please look", by: "ada", source: "test", ...more };
  return (await commands.add(comment)).id;
}

function where({ file, line, confidence, method }: ThreadView): unknown[] {
  return [file, line, confidence, method];
}

describe("ReviewCommands", () => {
  it("places a comment in the current worktree", async () => {
    using sample = new SampleRepository();
    sample.write("a.txt", sampleLines(5));
    sample.commit();
    using commands = await sample.commands();
    const id = await add(commands, "a.txt", 3);
    const tree = join(sample.parent, "tree");
    sample.git("worktree", "add", "--quiet", "-b", "side", tree);
    sample.write("a.txt", `new\n${sampleLines(5)}`);
    using there = await sample.commands(tree);
    assert.deepEqual(where(await there.show(id)), ["a.txt", 3, "exact", "diff"]);
    assert.deepEqual(where(await commands.show(id)), ["a.txt", 4, "exact", "diff"]);
    assert.equal((await there.list({ gitDir: there.here.gitDir })).length, 1);
  });
});

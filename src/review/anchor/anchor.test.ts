import assert from "node:assert/strict";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { NewComment } from "../add-comment.ts";
import type { ReviewCommands } from "../review-commands.ts";
import { sampleLines, SampleRepository } from "../../../test/samples/sample-review-repository.ts";

async function add(
  commands: ReviewCommands,
  file: string,
  line?: number,
  more: Partial<NewComment> = {},
): Promise<string> {
  const comment = { file, line, comment: "Please look", by: "ada", source: "test", ...more };
  return (await commands.add(comment)).id;
}

describe("AnchorMaker", () => {
  it("stores the position of a comment, with its context", async () => {
    using sample = new SampleRepository();
    sample.write("ä b.txt", sampleLines(10));
    const commit = sample.commit();
    using commands = await sample.commands();
    const { anchor } = await commands.reviews.get(await add(commands, "ä b.txt", 5, { end: 6 }));
    assert.deepEqual(
      [anchor.path, anchor.line, anchor.end, anchor.commit],
      ["ä b.txt", 5, 6, commit],
    );
    assert.equal(anchor.blob, sample.git("hash-object", "ä b.txt"));
    assert.deepEqual(anchor.quote, ["line number 5 of this file", "line number 6 of this file"]);
    assert.equal(anchor.before?.length, 3);
    assert.equal(anchor.after?.[0], "line number 7 of this file");
  });

  it("refuses positions that do not exist, with a message", async () => {
    using sample = new SampleRepository();
    sample.write("a", "one\ntwo\n");
    sample.write("binary", Buffer.from([1, 0, 2]));
    using commands = await sample.commands();
    await assert.rejects(add(commands, "a", 3), /line 3 of 'a': it has 2 lines/);
    await assert.rejects(add(commands, "a", 2, { end: 1 }), /not before the first/);
    await assert.rejects(add(commands, "b", 1), /no such file/);
    await assert.rejects(add(commands, "binary", 1), /it is binary/);
    await assert.rejects(add(commands, "a", 1, { comment: " \n" }), /an empty comment/);
    await assert.rejects(add(commands, "a", 1, { side: "old", base: "--all" }), /no commit/);
    await assert.rejects(add(commands, "typo"), /Cannot comment on 'typo': there is no such file/);
    await add(commands, "binary");
    sample.commit();
    await assert.rejects(add(commands, "typo"), /no such file/);
    await assert.rejects(
      add(commands, "typo", undefined, { side: "old" }),
      /Check the path and --base/,
    );
  });

  it("comments on a folder, and on a deleted file, as a whole", async () => {
    using sample = new SampleRepository();
    sample.write("folder/a", "one\n");
    sample.write("gone", "one\n");
    sample.commit();
    rmSync(join(sample.root, "gone"));
    using commands = await sample.commands();
    for (const file of ["folder", "gone"]) {
      const { anchor } = await commands.reviews.get(await add(commands, file));
      assert.deepEqual([anchor.path, anchor.line], [file, undefined]);
    }
  });

  it("comments on a bare repository's files as they are in its commits", async () => {
    using sample = new SampleRepository();
    sample.write("a.txt", sampleLines(5));
    sample.commit();
    const bare = join(sample.parent, "bare.git");
    sample.git("clone", "--quiet", "--bare", sample.root, bare);
    using commands = await sample.commands(bare);
    const id = await add(commands, "a.txt", 3, { side: "old" });
    assert.deepEqual((await commands.show(id)).quote, ["line number 3 of this file"]);
  });
});

import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { addCommentIn, suggestionIn } from "./add-comment.ts";
import { SampleRepository } from "../../test/samples/sample-review-repository.ts";

const SAID = { comment: "So", by: "ada", source: "test" };

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
    assert.deepEqual(await add("````suggestion\n```suggestion\na\n```  \n", 2), ["a"]);
    const many = "```suggestion\n".repeat(7_000);
    const start = process.cpuUsage().user;
    for (let n = 0; n < 20; n++) assert.equal(suggestionIn(many), undefined);
    assert.ok(
      process.cpuUsage().user - start < 5_000_000,
      "they are looked through again and again",
    );
  });

  it("opens the thread in the submodule, whichever folder the comment came from", async () => {
    using sample = new SampleRepository();
    using other = new SampleRepository();
    other.write("dir/x", "1\n2\n");
    other.commit();
    sample.git("submodule", "--quiet", "add", other.root, "sub");
    const sub = join(sample.root, "sub");
    const names = [
      [sample.root, "sub/dir/x"],
      [sub, "dir/x"],
      [join(sub, "dir"), "x"],
      [sample.root, join(sub, "dir/x")],
    ] as const;
    for (const [folder, file] of names) {
      await addCommentIn(sample.data, folder, { ...SAID, file, line: 2 });
    }
    using commands = await sample.commands(sub);
    const threads = await commands.list({ gitDir: commands.here.gitDir });
    assert.deepEqual(
      threads.map(({ file, repository }) => [file, repository]),
      names.map(() => ["dir/x", sub]),
    );
  });

  it("refuses git's own files", async () => {
    using sample = new SampleRepository();
    using commands = await sample.commands();
    for (const file of [".git/config", ".GIT/config", join(sample.root, ".git/HEAD")]) {
      await assert.rejects(commands.add({ ...SAID, file }), /one of git's own files/, file);
    }
    sample.write(".gitignore", "x\n");
    await commands.add({ ...SAID, file: ".gitignore" });
  });
});

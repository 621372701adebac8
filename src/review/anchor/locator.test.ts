import assert from "node:assert/strict";
import { renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { NewComment } from "../add-comment.ts";
import type { ReviewCommands } from "../review-commands.ts";
import { sampleLines, SampleRepository } from "../../../test/samples/sample-review-repository.ts";
import type { ThreadView } from "../thread-view.ts";

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

describe("Locator", () => {
  it("follows lines through changes, renames and moves that git does not know", async () => {
    using sample = new SampleRepository();
    sample.write("a.txt", sampleLines(20));
    sample.commit();
    using commands = await sample.commands();
    const id = await add(commands, "a.txt", 10);
    const at = async (): Promise<unknown[]> => where(await commands.show(id));
    assert.deepEqual(await at(), ["a.txt", 10, "exact", "diff"]);
    sample.write("a.txt", `new\n${sampleLines(20)}`);
    assert.deepEqual(await at(), ["a.txt", 11, "exact", "diff"]);
    renameSync(join(sample.root, "a.txt"), join(sample.root, "b.txt"));
    assert.deepEqual(await at(), ["b.txt", 11, "exact", "diff"]);
    sample.commit();
    assert.deepEqual(await at(), ["b.txt", 11, "exact", "diff"]);
    rmSync(join(sample.root, "b.txt"));
    assert.deepEqual(await at(), ["a.txt", undefined, "gone", "none"]);
    const { original, quote } = await commands.show(id);
    assert.equal(original?.line, 10);
    assert.deepEqual(quote, ["line number 10 of this file"]);
  });

  it("reads the commits in between if the two texts alone are ambiguous", async () => {
    using sample = new SampleRepository();
    const block = (name: string): string => `func ${name}() {\n\treturn nil\n}\n`;
    const write = (file: string, ...names: string[]): void =>
      sample.write(file, `${names.map(block).join("")}${sampleLines(20)}`);
    write("a.go", "first", "second");
    sample.commit();
    using commands = await sample.commands();
    const [kept, lost] = [await add(commands, "a.go", 2), await add(commands, "a.go", 5)];
    write("a.go", "first", "between", "second");
    sample.commit();
    write("a.go", "renamed", "between", "second");
    sample.commit();
    sample.git("mv", "a.go", "b.go");
    sample.commit();
    write("b.go", "renamed", "between");
    sample.commit();
    write("b.go", "renamed", "other", "another");
    assert.deepEqual(where(await commands.show(kept)), ["b.go", 2, "high", "diff"]);
    assert.deepEqual(where(await commands.show(lost)), ["b.go", undefined, "gone", "none"]);
  });

  it("keeps a comment on a removed line with the commit that had it", async () => {
    using sample = new SampleRepository();
    sample.write("a.txt", sampleLines(5));
    const commit = sample.commit();
    sample.write("a.txt", sampleLines(2));
    using commands = await sample.commands();
    const id = await add(commands, "a.txt", 4, { side: "old" });
    rmSync(join(sample.root, "a.txt"));
    sample.commit();
    const thread = await commands.show(id);
    assert.deepEqual([thread.side, thread.line, thread.confidence], ["old", 4, "exact"]);
    assert.deepEqual(thread.quote, ["line number 4 of this file"]);
    assert.equal((await commands.reviews.get(id)).anchor.commit, commit);
  });
});

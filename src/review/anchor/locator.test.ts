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

/** A file before and after a formatter: tabs for spaces, other quotes, long lines broken. */
function reformattedFile(count: number): {
  before: string;
  now: string;
  places: { before: number; now: number }[];
} {
  const before: string[] = [];
  const now: string[] = [];
  const places: { before: number; now: number }[] = [];
  for (let n = 0; before.length < count; n++) {
    const block: [string, string[]][] = [
      [`function name${n}(first) {`, [`function name${n}( first ) {`]],
      [`  if (!first) return "nothing ${n}";`, [`\tif (!first) return 'nothing ${n}';`]],
      [
        `  return callOf(first, "text ${n}", { option: ${n} });`,
        ["\treturn callOf(", "\t\tfirst,", `\t\t'text ${n}',`, `\t\t{ option: ${n} },`, "\t)"],
      ],
      ["}", ["}"]],
    ];
    for (const [old, lines] of block) {
      before.push(old);
      places.push({ before: before.length, now: now.length + 1 });
      now.push(...lines);
    }
  }
  return { before: `${before.join("\n")}\n`, now: `${now.join("\n")}\n`, places };
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

  it("leaves every comment in place when a formatter changes the whole file", async () => {
    using sample = new SampleRepository();
    const { before, now, places } = reformattedFile(200);
    sample.write("a.ts", before);
    sample.commit();
    using commands = await sample.commands();
    const ids: string[] = [];
    for (const place of places) ids.push(await add(commands, "a.ts", place.before));
    for (const isCommitted of [false, true]) {
      sample.write("a.ts", now);
      if (isCommitted) sample.commit();
      const views = new Map((await commands.list()).map((view) => [view.id, view]));
      const found = ids.map((id) => views.get(id)?.line);
      assert.deepEqual(
        found,
        places.map((place) => place.now),
      );
    }
  });

  it("finds a comment by its line in a file that has become too large to compare", async () => {
    using sample = new SampleRepository();
    sample.write("a.txt", sampleLines(20));
    sample.commit();
    using commands = await sample.commands();
    const id = await add(commands, "a.txt", 10);
    sample.write("a.txt", `${"\n".repeat(9 * 1024 * 1024)}${sampleLines(20)}`);
    const thread = await commands.show(id);
    assert.deepEqual(where(thread), ["a.txt", 9 * 1024 * 1024 + 10, "high", "quote"]);
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

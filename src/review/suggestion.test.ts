import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { Anchor } from "../store/schema.gen.ts";
import { sampleLines, SampleRepository } from "../../test/samples/sample-review-repository.ts";

async function suggested(
  sample: SampleRepository,
  file: string,
  line: number,
  suggestion: string,
  end = line,
): Promise<string> {
  using commands = await sample.commands();
  const comment = { file, line, end, suggestion, comment: "So", by: "ada", source: "test" };
  return (await commands.add(comment)).id;
}

async function apply(sample: SampleRepository, id: string): Promise<void> {
  using commands = await sample.commands();
  const { patch, path, content } = await commands.suggested(id);
  // Git comes to the same from the patch.
  const before = readFileSync(join(sample.root, path));
  execFileSync("git", ["-c", "core.autocrlf=false", "apply", "-"], {
    cwd: sample.root,
    input: patch,
  });
  assert.deepEqual(readFileSync(join(sample.root, path)), content);
  sample.write(path, before);
  const { thread } = await commands.apply(id, "ada");
  assert.equal(thread.state, "resolved");
  assert.deepEqual(readFileSync(join(sample.root, path)), content);
}

describe("a suggestion", () => {
  it("is not applied to git's own files", async () => {
    using sample = new SampleRepository();
    sample.write(".git/hooks/pre-commit", "1\n");
    using commands = await sample.commands();
    // Comments on such files are refused, but one may be in the store from an earlier version.
    const { id } = await commands.reviews.add({
      repository: commands.here,
      anchor: { path: ".git/hooks/pre-commit", side: "new", line: 1, end: 1, quote: ["1"] },
      suggestion: { lines: ["evil"] },
      ...{ comment: "So", severity: "must", by: "ada", source: "test" },
    });
    await assert.rejects(commands.suggested(id), /one of git's own files/);
    await assert.rejects(commands.apply(id, "ada"), /one of git's own files/);
  });

  it("is applied where its lines have moved to, also in a renamed file", async () => {
    using sample = new SampleRepository();
    sample.write("dir/a.txt", sampleLines(10));
    sample.commit();
    const id = await suggested(sample, "dir/a.txt", 5, "instead\nof it\n");
    sample.git("mv", "dir/a.txt", "b c.txt");
    sample.write("b c.txt", `first\n${sampleLines(10)}`);
    sample.git("add", "--all");
    await apply(sample, id);
    const lines = readFileSync(join(sample.root, "b c.txt"), "utf8").split("\n");
    assert.deepEqual(lines.slice(4, 8), [
      "line number 4 of this file",
      "instead",
      "of it",
      "line number 6 of this file",
    ]);
  });

  it("keeps the line ends, the bytes and the mode of the file", async () => {
    using sample = new SampleRepository();
    const text = (middle: string): string => `\uFEFFöne\r\n${middle}\r\nthree 🎉`;
    sample.write("ü.txt", text("two two two"));
    chmodSync(join(sample.root, "ü.txt"), 0o755);
    await apply(sample, await suggested(sample, "ü.txt", 2, "zwei ✓\n"));
    assert.equal(readFileSync(join(sample.root, "ü.txt"), "utf8"), text("zwei ✓"));
    assert.equal(statSync(join(sample.root, "ü.txt")).mode & 0o777, 0o755);
    await apply(sample, await suggested(sample, "ü.txt", 3, "drei\nvier"));
    assert.equal(
      readFileSync(join(sample.root, "ü.txt"), "utf8"),
      `${text("zwei ✓").slice(0, -8)}drei\r\nvier`,
    );
  });

  it("that is empty removes its lines", async () => {
    using sample = new SampleRepository();
    sample.write("a", sampleLines(4));
    await apply(sample, await suggested(sample, "a", 2, "", 3));
    assert.equal(readFileSync(join(sample.root, "a"), "utf8").split("\n").length, 3);
  });

  it("is refused with the reason if its lines are gone or changed", async () => {
    using sample = new SampleRepository();
    sample.write("a", sampleLines(10));
    const id = await suggested(sample, "a", 5, "x");
    const text = sampleLines(10).replace("number 5 of this", "number 5 in this");
    sample.write("a", text);
    await assert.rejects(apply(sample, id), /lines 5 to 5 have changed since/);
    sample.write("a", sampleLines(4));
    await assert.rejects(apply(sample, id), /the lines it replaces are gone/);
    assert.equal(readFileSync(join(sample.root, "a"), "utf8"), sampleLines(4));
    using commands = await sample.commands();
    const { id: none } = await commands.add({ file: "a", comment: "x", by: "a", source: "t" });
    await assert.rejects(commands.suggested(none), /the thread has no suggestion/);
  });

  it("that was imported is refused if it leads out of the repository or quotes other lines", async () => {
    using sample = new SampleRepository();
    sample.write("a", sampleLines(2));
    writeFileSync(join(sample.parent, "outside"), "mine\n");
    symlinkSync("..", join(sample.root, "link"));
    using commands = await sample.commands();
    const common = { comment: "So", severity: "must", by: "b", source: "t" } as const;
    const add = async (path: string, quote?: readonly string[]): Promise<string> => {
      const anchor = { path, side: "new", line: 1, ...(quote && { quote, before: [], after: [] }) };
      const suggestion = { lines: ["theirs"] };
      const thread = { ...common, repository: commands.here, anchor: anchor as Anchor, suggestion };
      return (await commands.reviews.add(thread)).id;
    };
    await assert.rejects(commands.apply(await add("a"), "ada"), /have changed since/);
    await assert.rejects(
      commands.apply(await add("link/outside", ["mine"]), "ada"),
      /has a symbolic link/,
    );
    assert.equal(readFileSync(join(sample.parent, "outside"), "utf8"), "mine\n");
  });
});

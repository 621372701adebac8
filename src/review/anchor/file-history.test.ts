import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleRepository } from "../../../test/samples/sample-review-repository.ts";
import { FileHistory } from "./file-history.ts";

async function textsSince(
  sample: SampleRepository,
  commit: string,
  path: string,
): Promise<(string | undefined)[] | undefined> {
  const history = new FileHistory(sample.root);
  const since = await history.since(commit, path);
  const texts = since?.changes.map(async ({ blob }) => {
    return blob === undefined ? "removed" : (await history.text(blob))?.lines.join("|");
  });
  return texts && Promise.all(texts);
}

describe("FileHistory", () => {
  it("gives the versions of files since their commits, oldest first", async () => {
    using sample = new SampleRepository();
    sample.write("ä b.txt", "0\n");
    const first = sample.commit();
    sample.write("ä b.txt", "1\nmore\n");
    sample.write("other", "x\n");
    const second = sample.commit();
    sample.git("mv", "ä b.txt", "c");
    sample.commit();
    sample.write("c", "2\n");
    sample.commit();
    assert.deepEqual(await textsSince(sample, first, "ä b.txt"), ["1|more", "removed"]);
    assert.deepEqual(await textsSince(sample, second, "ä b.txt"), ["removed"]);
    assert.deepEqual(await textsSince(sample, first, "c"), ["1|more", "2"]);
    assert.deepEqual(await textsSince(sample, first, "other"), ["x"]);
  });

  it("follows first parents, from a commit of a merged branch too", async () => {
    using sample = new SampleRepository();
    sample.write("a", "0\n");
    const base = sample.commit();
    sample.git("checkout", "--quiet", "-b", "side");
    sample.write("a", "side\n");
    const side = sample.commit();
    sample.write("a", "side 2\n");
    sample.commit();
    sample.git("checkout", "--quiet", "main");
    sample.write("b", "main\n");
    sample.commit();
    sample.git("merge", "--quiet", "--no-ff", "--message=x", "side");
    sample.write("a", "after\n");
    sample.commit();
    assert.deepEqual(await textsSince(sample, base, "a"), ["side 2", "after"]);
    assert.deepEqual(await textsSince(sample, side, "a"), ["side 2", "after"]);
  });

  it("says that it does not know a commit, and goes on for the others", async () => {
    using sample = new SampleRepository();
    sample.write("a", "0\n");
    const first = sample.commit();
    sample.write("a", "1\n");
    sample.commit();
    const history = new FileHistory(sample.root);
    const [unknown, known, hostile] = await Promise.all([
      history.since("0".repeat(40), "a"),
      history.since(first, "a"),
      history.since("--all", "a"),
    ]);
    assert.deepEqual([unknown, known?.changes.length, hostile], [undefined, 1, undefined]);
    assert.equal(await history.text("0".repeat(40)), undefined);
  });
});

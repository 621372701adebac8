import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleRepository } from "../../../test/samples/sample-review-repository.ts";
import { FileHistory } from "./locator.ts";

async function textsSince(
  sample: SampleRepository,
  commit: string,
  ...paths: string[]
): Promise<(string | undefined)[]> {
  const history = new FileHistory(sample.root);
  const blobs = await history.since(commit, paths);
  return Promise.all(blobs.map(async (blob) => (await history.text(blob))?.lines.join("|")));
}

describe("FileHistory", () => {
  it("gives the versions of files since their commits, oldest first, under all their names", async () => {
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
    const paths = ["ä b.txt", "c"];
    assert.deepEqual(await textsSince(sample, first, ...paths), ["1|more", "1|more", "2"]);
    assert.deepEqual(await textsSince(sample, second, ...paths), ["1|more", "2"]);
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
      history.since("0".repeat(40), ["a"]),
      history.since(first, ["a"]),
      history.since("--all", ["a"]),
    ]);
    assert.deepEqual([unknown, known.length, hostile], [[], 1, []]);
    assert.equal(await history.text("0".repeat(40)), undefined);
  });

  it("compares at most a hundred versions of a file, and always the last", async () => {
    using sample = new SampleRepository();
    const count = 250;
    const commits = Array.from({ length: count }, (_, n) => {
      const head = `commit refs/heads/main\ncommitter a <a@example.org> ${n + 1} +0000\ndata 0\n`;
      return `${head}M 100644 inline a\ndata ${`${n}`.length}\n${n}\n`;
    });
    sample.gitWith(commits.join(""), "fast-import", "--quiet", "--force");
    const first = sample.git("rev-list", "--max-parents=0", "main");
    const texts = await textsSince(sample, first, "a");
    assert.equal(texts.length, 83);
    assert.equal(texts.at(-1), `${count - 1}`);
  });
});

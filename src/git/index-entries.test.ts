import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../../test/samples/sample-repository.ts";
import { formatIndex, parseIndex } from "./index-entries.ts";

describe("an index", () => {
  it("is read in each version, and git reads what is written, with longer flags", () => {
    using it = new SampleRepository();
    for (const name of ["a", "a-b", "a/b", "ü", "long".repeat(40), "later"]) {
      it.write(`app/dir/${name === "a/b" ? "c/b" : name}`, name);
    }
    it.run("add", ".");
    it.commit();
    it.run("rm", "-q", "--cached", "dir/later");
    it.run("add", "-N", "dir/later");
    it.run("update-index", "--skip-worktree", "dir/a");
    const file = join(it.path, ".git/index");
    const said = it.run("ls-files", "--stage", "-t");
    for (const version of ["4", "3"]) {
      it.run("update-index", `--index-version=${version}`);
      writeFileSync(file, formatIndex(parseIndex(readFileSync(file)).values()));
      assert.equal(it.run("ls-files", "--stage", "-t"), said, version);
      assert.equal(it.run("fsck", "--no-dangling"), "");
    }
  });

  it("is refused where it is cut, in another order, or of a kind that says more", () => {
    using it = new SampleRepository();
    for (const name of ["a", "b", "c"]) it.write(`app/${name}`, name);
    it.run("add", ".");
    it.run("update-index", "--force-write-index");
    const whole = readFileSync(join(it.path, ".git/index"));
    const [a, b] = [...parseIndex(whole).values()];
    assert.ok(a !== undefined && b !== undefined);
    for (let length = 0; length < 200; length += 7) {
      assert.throws(() => parseIndex(whole.subarray(0, length)));
    }
    const swapped = formatIndex([a, b]);
    swapped.write("z", swapped.indexOf("a\0", 12), "latin1");
    assert.throws(() => parseIndex(swapped), /not in order/);
    assert.throws(() => parseIndex(formatIndex([{ ...a, mode: 0o040_000 }])), /mode 40000/);
    const plain = formatIndex([a]);
    const link = Buffer.concat([
      plain.subarray(0, -20),
      Buffer.from("link\0\0\0\0"),
      plain.subarray(-20),
    ]);
    assert.throws(() => parseIndex(link), /extension 'link'/);
  });
});

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it, mock } from "node:test";

import { SampleRepository } from "../../../test/samples/sample-review-repository.ts";
import type { BriefView } from "../../review/brief-list.ts";
import { openRepository } from "../../review/repository.ts";
import { PrintedList } from "./printed-list.ts";

const SHAPE = { width: 80 };
const TEXT = "one\ntwo\n";

/** Enough to be kept. */
function threads(some: Partial<BriefView> = {}): BriefView[] {
  const common = { severity: "should", side: "new", comment: "So", repository: "" } as const;
  return Array.from({ length: 300 }, (_, n) => ({
    ...{ ...common, id: String(n), state: "open", confidence: "exact" },
    ...{ file: n % 2 === 0 ? "a.txt" : "b.txt", line: 1, end: 1 },
    ...some,
  }));
}

/** A repository with a store. The clock is later than the last change by so many milliseconds. */
async function setUp(later = 60_000) {
  const sample = new SampleRepository();
  for (const file of ["a.txt", "b.txt"]) sample.write(file, "one\n");
  sample.commit();
  const comment = async (): Promise<void> => {
    using commands = await sample.commands();
    await commands.add({ file: "a.txt", line: 1, comment: "So", by: "ada", source: "test" });
  };
  await comment();
  // Who opens the store first notes what the repository is recognised by.
  (await sample.commands())[Symbol.dispose]();
  mock.timers.enable({ apis: ["Date"], now: Date.now() + later });
  const list = (shape: unknown = SHAPE) =>
    new PrintedList(sample.data, openRepository(sample.root), shape);
  return {
    sample,
    list,
    comment,
    [Symbol.dispose]: () => {
      mock.timers.reset();
      sample[Symbol.dispose]();
    },
  };
}

describe("PrintedList", () => {
  it("is printed again for as long as nothing has changed", async () => {
    using it = await setUp();
    const { list } = it;
    assert.equal(list().read(), undefined);
    list().keep(TEXT, threads());
    assert.equal(list().read(), TEXT);
    // Reading the store changes nothing.
    using _ = await it.sample.commands();
    assert.equal(list().read(), TEXT);
    assert.equal(list({ width: 100 }).read(), undefined);
  });

  it("is made anew after a change of the store, a file, or the commit", async () => {
    using it = await setUp();
    const { list, sample } = it;
    const changes: readonly (() => void | Promise<void>)[] = [
      () => sample.write("b.txt", "two\n"),
      it.comment,
      () => sample.commit(),
      () => rmSync(join(sample.root, "a.txt")),
    ];
    for (const change of changes) {
      list().keep(TEXT, threads());
      assert.equal(list().read(), TEXT);
      await change();
      assert.equal(list().read(), undefined);
    }
    list().keep(TEXT, threads());
    assert.equal(list().read(), undefined, "a file is missing");
  });

  it("is not kept if a file was changed a moment ago: the next change might not show", async () => {
    using it = await setUp(0);
    it.list().keep(TEXT, threads());
    assert.equal(it.list().read(), undefined);
  });

  it("is made anew if another commit was checked out while it was made", async () => {
    using it = await setUp();
    const made = it.list();
    it.sample.commit();
    made.keep(TEXT, threads());
    assert.equal(it.list().read(), undefined);
  });

  it("is one for each work tree, and made anew where a file has become a link", async () => {
    using it = await setUp();
    const { list, sample } = it;
    list().keep(TEXT, threads());
    execFileSync("git", ["worktree", "add", "--quiet", "--detach", join(sample.data, "other")], {
      cwd: sample.root,
    });
    const other = new PrintedList(sample.data, openRepository(join(sample.data, "other")), SHAPE);
    assert.equal(other.read(), undefined);
    assert.equal(list().read(), TEXT);
    const file = join(sample.root, "b.txt");
    const { atime, mtime } = statSync(file);
    utimesSync(file, atime, mtime);
    assert.equal(list().read(), undefined, "the same size and time, but changed since");
    list().keep(TEXT, threads());
    assert.equal(list().read(), TEXT);
    renameSync(file, join(sample.root, "c.txt"));
    symlinkSync("c.txt", file);
    assert.equal(list().read(), undefined, "a link");
  });

  it("is not kept if it changes by itself, or is short", async () => {
    using it = await setUp();
    const { list } = it;
    list().keep(TEXT, threads({ state: "claimed" }));
    list().keep(TEXT, threads({ original: { file: "before.txt" } }));
    list().keep(TEXT, threads().slice(0, 10));
    assert.equal(list().read(), undefined);
  });

  it("is made anew if its file is corrupt, and not kept where that is impossible", async () => {
    using it = await setUp();
    const { list, sample } = it;
    list().keep(TEXT, threads());
    const positions = join(sample.data, "positions");
    const [name = ""] = readdirSync(positions);
    for (const text of ["", "{}\n", "null\n", "[", "x".repeat(100)]) {
      writeFileSync(join(positions, name), text);
      assert.equal(list().read(), undefined);
    }
    rmSync(positions, { recursive: true });
    writeFileSync(positions, "");
    list().keep(TEXT, threads());
    assert.equal(list().read(), undefined);
  });
});

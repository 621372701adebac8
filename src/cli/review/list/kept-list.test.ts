import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it, mock } from "node:test";

import { SampleRepository } from "../../../../test/samples/sample-review-repository.ts";
import { openRepository } from "../../../review/repository.ts";
import type { BriefPlace } from "../../../store/review/reviews-brief.ts";
import { REVIEWS_FILE } from "../../../store/store-files.ts";
import { type Kept, KeptList } from "./kept-list.ts";
import { type ListedPlace, type ListedThreads, numbersIn } from "./listed-threads.ts";

type Dependency = "commits" | "files";

/** Enough threads to be kept, half of them on each of two files. */
function threadsOf(
  { root, gitDir }: { root: string; gitDir: string },
  { count = 300, onB }: { count?: number; onB?: Dependency },
): ListedThreads {
  const numbers = Array.from({ length: count }, (_, n) => n);
  const places = ["a.txt", "b.txt"].map((path, which): ListedPlace => {
    const repository = { root, gitDir };
    const place: BriefPlace = { repository, path, side: "new", blob: "0a", commit: undefined };
    const own = numbers.filter((n) => n % 2 === which);
    const opened = own.map((n) => `${n},${n},0`).join(",");
    const dependsOn = which === 1 ? onB : undefined;
    return { place, opened, count: own.length, longest: 2, dependsOn };
  });
  const table = {
    text: numbers.map((n) => `r${n}  Só “${n}”\n`).join(""),
    threads: count,
    widths: { id: 4, state: 4, severity: 3, where: 2 },
    spaced: { 7: 2 },
  };
  return { table, places };
}

/** The second file. */
function placeOfB({ places }: ListedThreads): Map<BriefPlace, number[]> {
  return new Map(places.slice(1).map(({ place, opened }) => [place, numbersIn(opened)]));
}

const A_DAY = 24 * 60 * 60 * 1000;

/** A repository with a store. The clock is later than all changes, however long the test takes. */
async function setUp() {
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
  mock.timers.enable({ apis: ["Date"], now: Date.now() + A_DAY });
  const here = openRepository(sample.root);
  const list = (all = false) => new KeptList(sample.data, here, all);
  return {
    sample,
    list,
    comment,
    threads: (of: Parameters<typeof threadsOf>[1] = {}) => threadsOf(here, of),
    [Symbol.dispose]: () => {
      mock.timers.reset();
      sample[Symbol.dispose]();
    },
  };
}

/** The files whose comments have to be looked for; undefined if nothing can be used. */
function staleIn(kept: Kept | undefined): readonly string[] | undefined {
  return kept && Array.from(kept.stale.keys(), ({ path }) => path);
}

/** The file that it is kept in. */
function positionsOf({ data }: SampleRepository): string {
  return readdirSync(join(data, "positions"))[0] ?? "";
}

describe("KeptList", () => {
  it("is used again for as long as nothing has changed", async () => {
    using it = await setUp();
    const { list } = it;
    assert.equal(list().read(), undefined);
    const threads = it.threads({ onB: "commits" });
    list().keep(threads);
    assert.deepEqual(list().read(), { list: threads, stale: new Map() });
    // Reading the store changes nothing.
    using _ = await it.sample.commands();
    assert.deepEqual(list().read(), { list: threads, stale: new Map() });
    assert.equal(list(true).read(), undefined, "with resolved threads");
  });

  it("has threads to look for again after a change of their file", async () => {
    using it = await setUp();
    const { list, sample } = it;
    const threads = it.threads();
    list().keep(threads);
    sample.write("b.txt", "two\n");
    assert.deepEqual(list().read(), { list: threads, stale: placeOfB(threads) });
    rmSync(join(sample.root, "a.txt"));
    assert.deepEqual(staleIn(list().read()), ["a.txt", "b.txt"]);
  });

  it("is made anew after a change of the store", async () => {
    using it = await setUp();
    it.list().keep(it.threads());
    await it.comment();
    assert.equal(it.list().read(), undefined);
  });

  it("has threads to look for again that depend on the commit, if there is another", async () => {
    using it = await setUp();
    const { list, sample } = it;
    list().keep(it.threads({ onB: "commits" }));
    assert.deepEqual(staleIn(list().read()), []);
    const made = list();
    sample.commit();
    assert.deepEqual(staleIn(list().read()), ["b.txt"]);
    // The commit was checked out while the list was made.
    made.keep(it.threads({ onB: "commits" }));
    assert.deepEqual(staleIn(list().read()), ["b.txt"]);
  });

  it("has threads to look for every time that depend on other files", async () => {
    using it = await setUp();
    it.list().keep(it.threads({ onB: "files" }));
    assert.deepEqual(staleIn(it.list().read()), ["b.txt"]);
  });

  it("has threads to look for again if their file was just changed: the next change might not show", async () => {
    using it = await setUp();
    const { list, sample } = it;
    const changed = (path: string): number => Math.floor(statSync(path).ctimeMs);
    const [a, b] = [join(sample.root, "a.txt"), join(sample.root, "b.txt")];
    const others = Math.max(...[a, join(sample.data, REVIEWS_FILE)].map(changed));
    while (changed(b) <= others) sample.write("b.txt", "two\n");
    const settledAfter = (millisecond: number): void => mock.timers.setTime(millisecond + 2_000);
    settledAfter(others - 1);
    list().keep(it.threads());
    assert.equal(list().read(), undefined, "the store was just changed, too");
    settledAfter(changed(b) - 1);
    list().keep(it.threads());
    assert.deepEqual(staleIn(list().read()), ["b.txt"]);
    settledAfter(changed(b));
    list().keep(it.threads());
    assert.deepEqual(staleIn(list().read()), []);
  });

  it("has threads to look for again if their file was just changed, and then replaced by an older one", async () => {
    using it = await setUp();
    const { sample } = it;
    for (const file of ["there/b.txt", "other/b.txt"]) sample.write(file, "one\n");
    const { table, places } = it.threads();
    const [a, b] = places;
    assert.ok(a && b);
    const threads = { table, places: [a, { ...b, place: { ...b.place, path: "there/b.txt" } }] };
    it.list().keep(threads);
    const changed = (path: string): number => Math.floor(statSync(path).ctimeMs);
    const others = Math.max(
      ...["a.txt", "other/b.txt"].map((file) => changed(join(sample.root, file))),
      changed(join(sample.data, REVIEWS_FILE)),
    );
    const file = join(sample.root, "there/b.txt");
    while (changed(file) <= others) sample.write("there/b.txt", "two\n");
    mock.timers.setTime(others + 2_000);
    const list = it.list();
    assert.deepEqual(staleIn(list.read()), ["there/b.txt"]);
    // Its threads are looked for, and then there is another file, whose times are old.
    renameSync(join(sample.root, "there"), join(sample.root, "before"));
    renameSync(join(sample.root, "other"), join(sample.root, "there"));
    list.keep(threads, placeOfB(threads));
    assert.deepEqual(staleIn(it.list().read()), ["there/b.txt"]);
  });

  it("is one for each work tree, and looked for again where a file has become a link", async () => {
    using it = await setUp();
    const { list, sample } = it;
    list().keep(it.threads());
    execFileSync("git", ["worktree", "add", "--quiet", "--detach", join(sample.data, "other")], {
      cwd: sample.root,
    });
    const other = new KeptList(sample.data, openRepository(join(sample.data, "other")), false);
    assert.equal(other.read(), undefined);
    assert.deepEqual(staleIn(list().read()), []);
    const file = join(sample.root, "b.txt");
    const { atime, mtime } = statSync(file);
    utimesSync(file, atime, mtime);
    assert.deepEqual(
      staleIn(list().read()),
      ["b.txt"],
      "the same size and time, but changed since",
    );
    list().keep(it.threads());
    assert.deepEqual(staleIn(list().read()), []);
    renameSync(file, join(sample.root, "c.txt"));
    symlinkSync("c.txt", file);
    assert.deepEqual(staleIn(list().read()), ["b.txt"], "a link");
    list().keep(it.threads());
    // The same file by another name: what is commented on is the link.
    rmSync(file);
    symlinkSync("./c.txt", file);
    assert.deepEqual(staleIn(list().read()), ["b.txt"], "another link");
  });

  it("is not kept if it is short", async () => {
    using it = await setUp();
    it.list().keep(it.threads({ count: 10 }));
    assert.equal(it.list().read(), undefined);
  });

  it("is not written again if nothing more is known than before", async () => {
    using it = await setUp();
    const { list, sample } = it;
    list().keep(it.threads());
    const file = (): string =>
      readFileSync(join(sample.data, "positions", positionsOf(sample)), "utf8");
    const before = file();
    rmSync(join(sample.root, "b.txt"));
    const gone = it.threads({ onB: "files" });
    list().keep(gone, placeOfB(gone));
    list().keep(gone, new Set());
    assert.ok(file() === before, "the same");
    sample.write("b.txt", "three\n");
    const found = it.threads();
    list().keep(found, placeOfB(found));
    assert.ok(file() !== before, "another");
    assert.deepEqual(staleIn(list().read()), []);
  });

  it("is made anew if its file is corrupt, and not kept where that is impossible", async () => {
    using it = await setUp();
    const { list, sample } = it;
    list().keep(it.threads());
    const positions = join(sample.data, "positions");
    const name = positionsOf(sample);
    const path = join(positions, name);
    const text = readFileSync(path, "utf8");
    const broken = [
      text.slice(0, -1),
      text.replace("Só", "\0\0\0"),
      text.replace("opened", "other"),
      text.replace("spaced", "other"),
      text.replace('"count":150', '"count":149'),
    ];
    for (const text of ["", "{}\n", "null\n", "[", "x".repeat(100), ...broken]) {
      writeFileSync(join(positions, name), text);
      assert.equal(list().read(), undefined);
    }
    writeFileSync(path, text.replace('"opened":"', '"opened":"1,2,3,'));
    assert.deepEqual(staleIn(list().read()), [], "which is not looked at");
    sample.write("a.txt", "two\n");
    assert.equal(list().read(), undefined);
    writeFileSync(path, text);
    assert.deepEqual(staleIn(list().read()), ["a.txt"]);
    rmSync(positions, { recursive: true });
    writeFileSync(positions, "");
    list().keep(it.threads());
    assert.equal(list().read(), undefined);
  });
});

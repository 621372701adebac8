import assert from "node:assert/strict";
import { mkdirSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, it, mock } from "node:test";

import {
  sampleLines,
  SampleRepository,
} from "../../../../test/samples/sample-review-repository.ts";
import { runInProcess } from "../../../../test/support/run-in-process.ts";
import { openRepository } from "../../../review/repository.ts";
import { type Kept, KeptList } from "./kept-list.ts";

const FILES = ["a", "b", "c", "d", "sub/e", "f\n\t\u202e"];
const A_DAY = 24 * 60 * 60 * 1000;
const SAID = { by: "ada", source: "test", severity: "nit" } as const;

/** A text with blocks that look alike: only the commits in between tell where a line is now. */
function alike(...names: string[]): string {
  return `${names.map((name) => `func ${name}() {\n\treturn nil\n}\n`).join("")}${sampleLines(20)}`;
}

/** A repository with comments of all kinds on all its files, enough for the list to be kept. */
async function setUp() {
  const sample = new SampleRepository();
  for (const file of FILES) sample.write(file, sampleLines(60, file.slice(0, 1)));
  sample.write("alike", alike("first", "second"));
  sample.commit();
  {
    using commands = await sample.commands();
    const repository = commands.here;
    const { makeAnchor } = await import("../../../review/anchor/anchor.ts");
    const threads = await Promise.all(
      Array.from({ length: 240 }, async (_, n) => {
        const path = [...FILES, "alike"][n % 7] ?? "";
        const line = n % 40 === 5 ? undefined : 1 + ((n * 5) % (path === "alike" ? 10 : 58));
        const side = n % 11 === 0 ? "old" : "new";
        const end = line === undefined ? undefined : line + (n % 3);
        const made = await makeAnchor({ repository, path, line, end, side });
        return { repository, ...made, comment: `\n Só\t${n} ${"x".repeat(n)}\r\nmore`, ...SAID };
      }),
    );
    const quote = ["b number 7 of this file"];
    const imported = { path: "b", side: "new", line: 2, end: 2, quote } as const;
    const folder = { path: "sub", side: "new" } as const;
    const others = [imported, folder].map((anchor) => {
      return { repository, anchor, comment: "Imported", ...SAID };
    });
    await commands.reviews.addAll([...threads, ...others]);
  }
  // Who opens the store first notes what the repository is recognised by.
  (await sample.commands())[Symbol.dispose]();
  // All that is changed was changed long ago, however long the test takes.
  mock.timers.enable({ apis: ["Date"], now: Date.now() + A_DAY });
  const env = { HOME: sample.parent, PATH: process.env.PATH ?? "", TRUNKLINE_DATA: sample.data };
  return {
    sample,
    list: async (...args: string[]): Promise<string> => {
      const ran = await runInProcess(["review", "list", ...args], { env, cwd: sample.root });
      assert.deepEqual([ran.code, ran.err], [0, ""]);
      return ran.out;
    },
    kept: (): Kept | undefined => {
      return new KeptList(sample.data, openRepository(sample.root), false).read();
    },
    forget: () => rmSync(join(sample.data, "positions"), { recursive: true }),
    [Symbol.dispose]: () => {
      mock.timers.reset();
      sample[Symbol.dispose]();
    },
  };
}

describe("listed threads", () => {
  it("are where they are in a list that is made anew, whatever has changed since they were kept", async () => {
    using it = await setUp();
    const { sample, list } = it;
    const at = (path: string): string => join(sample.root, path);
    const first = sample.git("rev-parse", "HEAD");
    const changes: Readonly<Record<string, () => unknown>> = {
      nothing: () => {},
      "lines are inserted": () => sample.write("a", `${"new\n".repeat(50)}${sampleLines(60, "a")}`),
      "lines are gone": () => sample.write("b", sampleLines(20, "b")),
      "a file is reformatted": () =>
        sample.write("c", sampleLines(60, "c").replaceAll(/^/gm, "\t")),
      "lines that look alike are changed by commits": () => {
        sample.write("alike", alike("first", "between", "second"));
        sample.commit();
        sample.write("alike", alike("renamed", "between", "second"));
        sample.commit();
        sample.write("alike", alike("renamed", "between"));
        sample.commit();
        sample.write("alike", alike("renamed", "other", "another"));
      },
      "those commits are forgotten": () => sample.git("reset", "--quiet", "--soft", first),
      "all of it is committed": () => sample.commit(),
      "a file is renamed": () => sample.git("mv", "d", "a-much-longer-name-than-before"),
      "that is committed": () => sample.commit(),
      "a file is renamed unknown to git": () => renameSync(at("a"), at("unknown")),
      "a file is removed": () => rmSync(at("c")),
      "a file is created again": () => sample.write("c", `other\n${sampleLines(60, "c")}`),
      "a file becomes a link": () => (rmSync(at("b")), symlinkSync("c", at("b"))),
      "a file becomes a folder": () => (rmSync(at("c")), mkdirSync(at("c"))),
      "its text is in another file": () => sample.write("other", sampleLines(60, "c")),
      "a folder is removed": () => rmSync(at("sub"), { recursive: true }),
      "a link to itself is in its place": () => symlinkSync("sub", at("sub")),
      "another commit is checked out": () => sample.git("reset", "--quiet", "--hard", first),
      "a commit without changes": () => sample.commit(),
    };
    const seen = new Set<string>();
    await list();
    for (const [name, change] of Object.entries(changes)) {
      await change();
      const kept = it.kept();
      assert.ok(kept !== undefined, name);
      assert.ok(kept.stale.size < kept.list.places.length, `${name}: some positions are kept`);
      // The first is made of what was kept before the change, the second of what the first kept.
      const found = [await list(), await list("--menu")];
      it.forget();
      const table = await list();
      assert.deepEqual(found, [table, await list("--menu")], name);
      seen.add(table);
    }
    assert.ok(seen.size > 10, `${seen.size} lists`);
  });

  it("are not kept with a claim, which lapses with time", async () => {
    using it = await setUp();
    // The claim ends with the process that has it, and with its lease.
    using commands = await it.sample.commands();
    const [first] = await commands.reviews.list();
    for (const lease of [60_000, -1]) {
      await commands.reviews.claim({ agent: "a", lease, id: first?.id });
      const isClaimed = /^\S+ +claimed /m.test(await it.list());
      assert.equal(isClaimed, lease > 0);
      assert.equal(it.kept() === undefined, isClaimed);
    }
  });
});

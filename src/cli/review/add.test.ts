import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

interface Thread {
  readonly id: string;
  readonly file: string;
  readonly line?: number;
  readonly end?: number;
  readonly side: string;
  readonly by: string;
  readonly suggestion?: readonly string[];
}

/** A repository with a file of three lines, the last of which has just been removed. */
async function setUp(): Promise<SampleCommandLine> {
  const line = await SampleCommandLine.create();
  const file = join(line.home.project, "a.txt");
  await line.home.write(file, "one\ntwo\nthree\n");
  line.git("add", "a.txt");
  line.git("commit", "--quiet", "--message=x");
  await line.home.write(file, "one\ntwo\n");
  return line;
}

const add = (line: SampleCommandLine, ...args: string[]) =>
  line.run("review", "add", "--file", "a.txt", ...args);

describe("trunkline review add", () => {
  it("opens a thread on a line, a range, a whole file or a removed line", async () => {
    await using line = await setUp();
    const on = async (...args: string[]) => {
      const {
        file,
        line: first,
        end,
        side,
      } = await line.json<Thread>(...["review", "add", "--file", "a.txt", "-c", "Why?", ...args]);
      return [file, first, end, side];
    };
    assert.deepEqual(await on("--line", "2"), ["a.txt", 2, 2, "new"]);
    assert.deepEqual(await on("--line", "1", "--end", "2"), ["a.txt", 1, 2, "new"]);
    assert.deepEqual((await on()).slice(0, 2), ["a.txt", undefined]);
    assert.equal((await on("--line", "-3")).at(-1), "old");
  });

  it("prints the id of the thread, and signs with the user's name", async () => {
    await using line = await setUp();
    const { code, out } = await add(line, "--line", "1", "--end", "2", "-c", "Why?");
    assert.equal(code, 0);
    const [, id = ""] = /^Opened (\S+) on a\.txt:1-2\.\n$/.exec(out) ?? [];
    assert.equal((await line.json<Thread>("review", "show", id)).by, "ada");
    line.env.GIT_AUTHOR_NAME = "Ada Lovelace";
    const named = await line.json<Thread>("review", "add", "--file", "a.txt", "-c", "And?");
    assert.equal(named.by, "Ada Lovelace");
    line.git("config", "user.name", "Ada of this repository");
    delete line.env.GIT_AUTHOR_NAME;
    const own = await line.json<Thread>("review", "add", "--file", "a.txt", "-c", "And?");
    assert.equal(own.by, "Ada of this repository");
    const as = ["--as", "Bob\u202e"];
    const other = await line.json<Thread>("review", "add", "--file", "a.txt", "-c", "So?", ...as);
    assert.equal(other.by, "Bob\\u202e");
    const { replies } = await line.json<{ replies: { by: string }[] }>(
      ...["review", "reply", id, "-c", "Hm", "--as", "Eve"],
    );
    assert.equal(replies[0]?.by, "Eve");
  });

  it("takes a diff of the file as a suggestion, also of what is already changed", async () => {
    await using line = await setUp();
    const file = join(line.home.project, "a.txt");
    const text = (n: number, name = "line"): string =>
      Array.from({ length: 12 }, (_, at) => `${at === n ? name : "line"} ${at + 1}\n`).join("");
    await line.home.write(file, text(20));
    line.git("commit", "--quiet", "--all", "--message=x");
    await line.home.write(file, text(5, "better").replace("line 8\n", ""));
    await line.home.write(join(line.home.project, "b.txt"), "new\n");
    line.git("add", "--all", "--intent-to-add");
    const diff = join(line.home.path, "x.diff");
    await line.home.write(diff, line.git("diff"));
    const suggest = (...more: string[]) =>
      line.json<Thread & { original?: { commit?: string } }>(
        ...["review", "add", "--file", "a.txt", "-c", "So?", "--diff", diff, ...more],
      );
    const { suggestion, quote } = (await suggest()) as Thread & { quote: string[] };
    assert.deepEqual(quote, ["line 6", "line 7", "line 8"]);
    assert.deepEqual(suggestion, ["better 6", "line 7"]);
    line.git("checkout", "--quiet", "a.txt");
    const { id, line: first, end } = await suggest();
    assert.deepEqual([first, end], [6, 8]);
    assert.match((await line.run("review", "apply", id)).out, /^Changed a\.txt/);
    assert.equal(await readFile(file, "utf8"), text(5, "better").replace("line 8\n", ""));
    await line.home.write(file, "something else\n");
    for (const [args, why] of [
      [["--file", "a.txt", "--diff", diff], /its lines are not those of the file/],
      [["--file", "c.txt", "--diff", diff], /it changes nothing there/],
      [["--file", "a.txt", "--diff", diff, "--suggest", diff], /together/],
    ] as const) {
      const { code, err } = await line.run("review", "add", "-c", "So?", ...args);
      assert.deepEqual([code, why.test(err)], [2, true], err);
    }
  });

  it("suggests an insertion, beside the line that stays", async () => {
    await using line = await setUp();
    const diff = join(line.home.path, "x.diff");
    await line.home.write(diff, "--- a/a.txt\n+++ b/a.txt\n@@ -1,2 +1,3 @@\n one\n+more\n two\n");
    const args = ["review", "add", "--file", "a.txt", "-c", "So?", "--diff", diff];
    const { line: first, end, suggestion } = await line.json<Thread>(...args);
    assert.deepEqual([first, end, suggestion], [1, 1, ["one", "more"]]);
  });

  it("reads replacement lines from a file", async () => {
    await using line = await setUp();
    await line.home.write(join(line.home.project, "fix.txt"), "ONE\nTWO\n");
    const thread = await line.json<Thread>(
      ...["review", "add", "--file", "a.txt", "--line", "1", "-c", "So:", "--suggest", "fix.txt"],
    );
    assert.deepEqual(thread.suggestion, ["ONE", "TWO"]);
  });

  for (const [args, code, why] of [
    [["--line", "0", "-c", "x"], 2, /Cannot use '--line 0': give a line number from 1 on/],
    [["--line", "1", "--end", "last", "-c", "x"], 2, /Cannot use '--end last'/],
    [["--line", "9", "-c", "x"], 2, /Cannot comment on line 9 of .a\.txt.: it has 2 lines/],
    [["--suggest", "-"], 2, /Cannot read comment and suggestion from standard input/],
    [["-c", "x", "--suggest", "none.txt"], 1, /Cannot read 'none\.txt': no such file\n/],
  ] as const) {
    it(`refuses ${args.join(" ")}`, async () => {
      await using line = await setUp();
      const refused = await add(line, ...args);
      assert.equal(refused.code, code, refused.err);
      assert.match(refused.err, why);
      assert.deepEqual(await line.json("review", "list"), { threads: [] });
    });
  }

  it("needs a file", async () => {
    await using line = await setUp();
    const { code, err } = await line.run("review", "add", "-c", "x");
    assert.equal(code, 2);
    assert.match(err, /give --file/);
  });
});

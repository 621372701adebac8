import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

/** A repository with two committed files, and an open thread on each; `ids` in their order. */
async function setUp() {
  const line = await SampleCommandLine.create();
  const ids: string[] = [];
  for (const file of ["a.txt", "b.txt"]) {
    await line.home.write(join(line.home.project, file), "one\ntwo\nthree\n");
  }
  line.git("add", "--all");
  line.git("commit", "--quiet", "--message=x");
  for (const file of ["a.txt", "b.txt"]) {
    const args = ["--file", file, "--line", "2", "-c", `Look at ${file}`];
    ids.push((await line.json<{ id: string }>("review", "add", ...args)).id);
  }
  const [first = "", second = ""] = ids;
  return { line, first, second, [Symbol.asyncDispose]: () => line[Symbol.asyncDispose]() };
}

describe("trunkline review list", () => {
  it("lists unresolved threads, and others only if asked", async () => {
    await using all = await setUp();
    const { line, first, second } = all;
    await line.run("review", "resolve", first);
    const listed = async (...args: string[]) => {
      const { threads } = await line.json<{ threads: { id: string }[] }>("review", "list", ...args);
      return threads.map(({ id }) => id).toSorted();
    };
    assert.deepEqual(await listed(), [second]);
    assert.deepEqual(await listed("--all"), [first, second].toSorted());
    assert.deepEqual(await listed("--state", "resolved"), [first]);
    assert.deepEqual(await listed("--all", "--file", "a.txt"), [first]);
  });

  it("lists what is severe for editors, code hosts and runners, and fails with it before a push", async () => {
    await using all = await setUp();
    const { line, first } = all;
    const add = ["review", "add", "--file", "a.txt", "--severity", "must", "--line", "1"];
    const more = ["--end", "2", "-c", "100%: no,\nreally"];
    const { id } = await line.json<{ id: string }>(...add, ...more);
    const list = (...args: string[]) => line.run("review", "list", ...args);
    const quickfix = await list("--format", "quickfix", "--file", "a.txt");
    assert.deepEqual(quickfix.out.split("\n"), [
      `a.txt:2: [should] Look at a.txt (${first})`,
      `a.txt:1: [must] 100%: no, (${id})`,
      "",
    ]);
    const must = ["--severity", "must", "--severity", "nit"];
    const annotations = await list("--format", "annotations", ...must);
    const place = `file=a.txt,line=1,endLine=2,title=${id} (must)`;
    assert.equal(annotations.out, `::error ${place}::100%25: no,%0Areally\n`);
    const sarif = JSON.parse((await list("--format", "sarif", ...must)).out) as {
      runs: { results: { message: { text: string } }[] }[];
    };
    assert.deepEqual(
      sarif.runs[0]?.results.map(({ message }) => message.text),
      ["100%: no,\nreally"],
    );
    assert.equal((await list("--severity", "must", "--exit-code")).code, 1);
    assert.equal((await list("--severity", "must")).code, 0);
    await line.run("review", "resolve", id);
    assert.equal((await list("--severity", "must", "--exit-code")).code, 0);
    assert.equal((await list("--exit-code", "--format", "sarif")).code, 1);
  });

  it("lists what waits in the inbox, without a server that imports it", async () => {
    await using all = await setUp();
    const { line } = all;
    const inbox = join(line.home.path, ".local/state/trunkline/review-inbox");
    const drop = (comment: string, project_root: string): string =>
      JSON.stringify({ file: "a.txt", comment, project_root, line: 3 });
    await line.home.write(join(inbox, "1.json"), drop("Waits", line.home.project));
    await line.home.write(join(inbox, "2.json"), drop("Elsewhere", "/"));
    await line.home.write(join(inbox, "3.json"), "not yet");
    const { err } = await line.run("review", "list");
    assert.match(err, /^In the inbox, until a server runs: a\.txt:3 {2}Waits\n$/);
    const gate = async (...args: string[]): Promise<number> =>
      (await line.run("review", "list", "--exit-code", ...args)).code;
    const threads = await line.json<{ threads: { id: string }[] }>("review", "list");
    for (const { id } of threads.threads) await line.run("review", "resolve", id);
    assert.deepEqual([await gate(), await gate("--severity", "must")], [1, 0]);
    assert.deepEqual([await gate("--file", "b.txt"), await gate("--state", "answered")], [0, 0]);
    const { waiting } = await line.json<{ waiting: { comment: string }[] }>("review", "list");
    assert.deepEqual(
      waiting.map(({ comment }) => comment),
      ["Waits"],
    );
  });

  it("finds a renamed file by both its names", async () => {
    await using all = await setUp();
    const { line, first } = all;
    line.git("mv", "a.txt", "c.txt");
    line.git("commit", "--quiet", "--message=y");
    for (const file of ["a.txt", "c.txt"]) {
      const { out } = await line.run("review", "list", "--file", file);
      assert.match(out, new RegExp(`^${first} .* c\\.txt:2 `), file);
    }
  });

  it("does not cut comments that another program reads", async () => {
    await using all = await setUp();
    const comment = `Look ${"here ".repeat(60)}again`;
    await all.line.json("review", "add", "--file", "a.txt", "--line", "3", "-c", comment);
    const { out } = await all.line.run("review", "list");
    assert.ok(out.includes(`  ${comment}\n`), out);
  });

  it("prints lines for a menu", async () => {
    await using all = await setUp();
    const { out } = await all.line.run("review", "list", "--menu", "--file", "a.txt");
    assert.equal(out, `${all.first}:open a.txt:2 Look at a.txt\n`);
  });

  it("takes the name of a file from the current folder, as add does", async () => {
    await using line = await SampleCommandLine.create();
    await line.home.write(join(line.home.project, "sub/b.txt"), "one\n");
    await line.run("review", "add", "--file", "sub/b.txt", "-c", "Why?");
    const folder = ["--repo", "sub"];
    for (const name of ["b.txt", "./b.txt", "sub/b.txt", join(line.home.project, "sub/b.txt")]) {
      const { out, err } = await line.run("review", "list", ...folder, "--file", name);
      assert.match(out, /sub\/b\.txt +Why\?\n$/, `${name}: ${err}`);
    }
    const none = await line.run("review", "list", "--file", "c.txt");
    assert.match(none.err, /^There are no threads on 'c\.txt'\. /);
  });

  it("says how to open a thread if there is none", async () => {
    await using line = await SampleCommandLine.create();
    const { code, out, err } = await line.run("review", "list");
    assert.deepEqual([code, out], [0, ""]);
    assert.match(err, /^There are no threads\. `trunkline review add/);
  });
});

describe("trunkline review show", () => {
  it("refuses --patch for a thread without a suggestion", async () => {
    await using all = await setUp();
    const { code, out } = await all.line.run("review", "show", all.first, "--patch");
    assert.deepEqual([code, out], [1, ""]);
  });
});

describe("trunkline review lines", () => {
  it("lists changed lines and their neighbours, removed lines with a minus", async () => {
    await using all = await setUp();
    const { line } = all;
    await line.home.write(join(line.home.project, "a.txt"), "one\n\tTWO\nthree\n");
    const { out } = await line.run("review", "lines", "a.txt");
    assert.equal(out, "1:  one\n-2:- two\n2:+     TWO\n3:  three\n");
  });

  it("says that there is no such file", async () => {
    await using all = await setUp();
    const { line } = all;
    await line.home.write(join(line.home.project, "folder/c.txt"), "new\n");
    const cases: [args: string[], says: RegExp][] = [
      [["missing.txt"], /Cannot list the lines of 'missing\.txt': there is no such file/],
      [["folder"], /Cannot list the lines of 'folder': it is a folder/],
      [["folder/c.txt", "--commit", "HEAD"], /'folder\/c\.txt': the commit has no such file/],
    ];
    for (const [args, says] of cases) {
      const { code, out, err } = await line.run("review", "lines", ...args);
      assert.deepEqual([code, out], [1, ""]);
      assert.match(err, says);
    }
    line.git("clone", "--quiet", "--bare", ".", "../bare.git");
    const bare = await line.run("review", "lines", "a.txt", "--repo", "../bare.git");
    assert.match(bare.err, /Cannot list the lines of 'a\.txt': the repository is bare/);
  });

  it("lists nothing of an empty file, and the lines of one that was removed", async () => {
    await using all = await setUp();
    const { line } = all;
    await line.home.write(join(line.home.project, "empty.txt"), "");
    assert.deepEqual((await line.run("review", "lines", "empty.txt")).out, "");
    line.git("rm", "--quiet", "a.txt");
    const { out } = await line.run("review", "lines", "a.txt");
    assert.equal(out, "-1:- one\n-2:- two\n-3:- three\n");
  });
});

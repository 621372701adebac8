import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

/** A thread on the second line of a file, with a replacement for it. */
async function setUp() {
  const line = await SampleCommandLine.create();
  const { home } = line;
  await home.write(join(home.project, "a.txt"), "one\ntwo\nthree\n");
  await home.write(join(home.project, "fix.txt"), "TWO\n");
  const args = ["--file", "a.txt", "--line", "2", "-c", "Louder", "--suggest", "fix.txt"];
  const { id } = await line.json<{ id: string }>("review", "add", ...args);
  return { line, id, [Symbol.asyncDispose]: () => line[Symbol.asyncDispose]() };
}

describe("trunkline review resolve", () => {
  it("resolves threads by the beginning of an id, and reopen reopens one", async () => {
    await using open = await setUp();
    const { line, id } = open;
    const resolved = await line.run("review", "resolve", id.slice(0, 4));
    assert.deepEqual(resolved, { code: 0, out: `${id} is resolved: a.txt:2\n`, err: "" });
    const reopened = await line.run("review", "reopen", id, "-c", "Not yet");
    assert.equal(reopened.out, `${id} is reopened: a.txt:2\n`);
  });

  it("resolves none of several threads if one does not exist", async () => {
    await using open = await setUp();
    const { line, id } = open;
    const { code } = await line.run("review", "resolve", id, "zzzzzz");
    assert.equal(code, 1);
    assert.equal((await line.json<{ state: string }>("review", "show", id)).state, "open");
  });

  it("prints one thread as an object, and several as a list", async () => {
    await using open = await setUp();
    const { line, id } = open;
    const args = ["review", "add", "--file", "a.txt", "-c", "Why?"];
    const other = await line.json<{ id: string }>(...args);
    assert.equal((await line.json<{ id: string }>("review", "resolve", id)).id, id);
    await line.run("review", "reopen", id);
    const both = await line.json<{ threads: { id: string }[] }>("review", "resolve", id, other.id);
    assert.deepEqual(
      both.threads.map((thread) => thread.id),
      [id, other.id],
    );
  });
});

describe("trunkline review reply", () => {
  it("adds a reply in the user's name, and refuses an empty one", async () => {
    await using open = await setUp();
    const { line, id } = open;
    assert.equal((await line.run("review", "reply", id, "-c", "Which?\n\n")).code, 0);
    type Shown = { replies: { by: string; text: string }[] };
    const { replies } = await line.json<Shown>("review", "show", id);
    assert.deepEqual([replies[0]?.by, replies[0]?.text], ["ada", "Which?"]);
    const empty = await line.run("review", "reply", id, "-c", " \n");
    assert.equal(empty.code, 2);
    assert.match(empty.err, /Cannot add an empty comment/);
  });
});

describe("trunkline review apply", () => {
  it("changes the file, and refuses once its lines have changed", async () => {
    await using open = await setUp();
    const { line, id } = open;
    const file = join(line.home.project, "a.txt");
    assert.equal(
      (await line.run("review", "apply", id)).out,
      `Changed a.txt. ${id} is resolved.\n`,
    );
    assert.equal(readFileSync(file, "utf8"), "one\nTWO\nthree\n");
    assert.equal((await line.run("review", "apply", id)).code, 1);
    assert.equal(readFileSync(file, "utf8"), "one\nTWO\nthree\n");
  });
});

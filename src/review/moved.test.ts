import assert from "node:assert/strict";
import { cpSync, readdirSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { sampleLines, SampleRepository } from "../../test/samples/sample-review-repository.ts";
import { commentsIn, inFolder, Reviewing } from "../../test/samples/sample-reviewing.ts";
import { addCommentIn } from "./add-comment.ts";
import { threadsText } from "./review-tools.ts";
import { SampleContext } from "../../test/samples/sample-context.ts";

const SECRET = "hunter2";

/** A repository with a commit and a remote, in whose address there is a password. */
function withHistory(remote = "https://host.example/us/it.git"): SampleRepository {
  const sample = new SampleRepository();
  sample.write("a.txt", sampleLines(20));
  sample.commit();
  const withPassword = remote.replace("//", `//me:${SECRET}@`);
  if (remote !== "") sample.git("remote", "add", "origin", withPassword);
  return sample;
}

async function comment(
  sample: SampleRepository,
  text: string,
  folder = sample.root,
): Promise<void> {
  using commands = await sample.commands(folder);
  await commands.add({ file: "a.txt", line: 5, comment: text, by: "ada", source: "test" });
}

async function listed(sample: SampleRepository, folder: string): Promise<string[]> {
  using commands = await sample.commands(folder);
  const threads = await commands.list({ gitDir: commands.here.gitDir });
  return threads.map(({ comment: text, line }) => `${text}:${line}`);
}

describe("a repository that was moved", () => {
  for (const remote of ["https://host.example/us/it.git", ""]) {
    it(`keeps its threads ${remote === "" ? "without" : "with"} a remote`, async () => {
      using sample = withHistory(remote);
      await comment(sample, "one");
      const moved = join(sample.parent, "moved");
      renameSync(sample.root, moved);
      assert.deepEqual(await listed(sample, moved), ["one:5"]);
    });
  }

  it("is recognised by its first commit if the commented one is no longer there", async () => {
    using sample = withHistory();
    sample.commit();
    await comment(sample, "one");
    assert.deepEqual(await listed(sample, sample.root), ["one:5"], "its first commit is noted");
    const clone = join(sample.parent, "clone");
    sample.gitIn(sample.parent, "clone", "--quiet", sample.root, clone);
    sample.gitIn(clone, "remote", "set-url", "origin", "https://host.example/us/it");
    sample.gitIn(clone, "reset", "--quiet", "--hard", "HEAD~");
    sample.gitIn(clone, "update-ref", "-d", "refs/remotes/origin/main");
    rmSync(sample.root, { recursive: true });
    assert.deepEqual(await listed(sample, clone), ["one:5"]);
  });

  it("keeps its threads if the first thing that happens there is another comment", async () => {
    using sample = withHistory();
    await comment(sample, "one");
    const moved = join(sample.parent, "moved");
    renameSync(sample.root, moved);
    await addCommentIn(sample.data, moved, {
      ...{ file: "a.txt", line: 7, comment: "two", by: "ada", source: "test" },
    });
    assert.deepEqual(await listed(sample, moved), ["one:5", "two:7"]);
  });

  it("is found by an agent's tools there", async () => {
    const sample = withHistory();
    await using reviewing = await Reviewing.begin(sample, {}, "/");
    await reviewing.add("one");
    const moved = join(sample.parent, "moved");
    renameSync(sample.root, moved);
    const context = new SampleContext();
    context.project = inFolder(moved);
    const text = await reviewing.text("check_lazygit_messages", {}, context);
    assert.deepEqual(commentsIn(text), ["one"]);
  });

  it("is not taken for a fork, nor for a copy while the original is there", async () => {
    using sample = withHistory();
    await comment(sample, "one");
    const copy = join(sample.parent, "copy");
    cpSync(sample.root, copy, { recursive: true });
    assert.deepEqual(await listed(sample, copy), []);
    sample.gitIn(copy, "remote", "set-url", "origin", "https://host.example/fork/it");
    rmSync(sample.root, { recursive: true });
    assert.deepEqual(await listed(sample, copy), []);
  });

  it("leaves no password of a remote's address in the store", async () => {
    using sample = withHistory();
    await comment(sample, "one");
    const files = readdirSync(sample.data).filter((name) => name.startsWith("reviews.db"));
    assert.ok(files.length > 0);
    for (const file of files) {
      assert.equal(readFileSync(join(sample.data, file)).includes(SECRET), false, file);
    }
  });
});

describe("a repository that is gone", () => {
  it("is listed as such, and breaks nothing else", async () => {
    using sample = withHistory();
    const other = join(sample.parent, "other");
    cpSync(sample.root, other, { recursive: true });
    await comment(sample, "here");
    await comment(sample, "there", other);
    rmSync(other, { recursive: true });
    using commands = await sample.commands();
    const threads = await commands.list();
    assert.deepEqual(
      threads.map(({ comment: text, line, isRepositoryGone }) => [text, line, isRepositoryGone]),
      [
        ["here", 5, undefined],
        ["there", undefined, true],
      ],
    );
    assert.match(threadsText(threads), /Repository: .*\/other \(no longer there\)$/);
    const gone = threads[1]?.id ?? "";
    await assert.rejects(commands.apply(gone, "ada"), /no suggestion/);
    assert.equal(
      (await commands.say("resolve", gone, { by: "ada", role: "person" })).state,
      "resolved",
    );
  });

  it("does not keep its messages from a reader of all repositories, nor those of others", async () => {
    const sample = withHistory();
    await using reviewing = await Reviewing.begin(sample, { first: "oldest" }, "/");
    const other = join(sample.parent, "other");
    cpSync(sample.root, other, { recursive: true });
    await comment(sample, "there", other);
    await reviewing.add("here");
    rmSync(other, { recursive: true });
    const context = new SampleContext();
    context.project = { folder: "/", folders: ["/"] };
    const text = await reviewing.text("check_lazygit_messages", {}, context);
    assert.deepEqual(commentsIn(text), ["there", "here"]);
    assert.match(text, /^\(The repository is no longer at .*\/other\)$/m);
  });
});

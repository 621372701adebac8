import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  mkdir,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  utimes,
  writeFile,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import type { Storage } from "./storage.ts";
import { SampleStorage } from "../../../test/samples/sample-storage.ts";

const run = promisify(execFile);
const document = (text: string): { content: Buffer } => ({ content: Buffer.from(text) });

/** A storage whose files a test reads and writes by itself. */
class Workspace implements AsyncDisposable {
  readonly sample: SampleStorage;
  readonly storage: Storage;

  private constructor(sample: SampleStorage) {
    this.sample = sample;
    this.storage = sample.storage;
  }

  static async create(files: Readonly<Record<string, string>> = {}): Promise<Workspace> {
    const workspace = new Workspace(await SampleStorage.open());
    for (const [path, text] of Object.entries(files)) {
      await mkdir(dirname(workspace.at(path)), { recursive: true });
      await writeFile(workspace.at(path), text);
    }
    return workspace;
  }

  at(path: string): string {
    return join(this.sample.folder, ".projects", path);
  }

  text(path: string): Promise<string> {
    return readFile(this.at(path), "utf8");
  }

  /** All files but the storage's own. */
  async files(): Promise<string[]> {
    const entries = await readdir(this.at(""), { recursive: true, withFileTypes: true });
    return entries
      .filter((entry) => !entry.isDirectory())
      .map(({ parentPath, name }) => join(parentPath, name).slice(this.at("x").length - 1))
      .filter((path) => !path.startsWith(".trunkline/"))
      .toSorted();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.sample[Symbol.asyncDispose]();
  }
}

describe("MarkdownStorage", { timeout: 60_000 }, () => {
  it("writes files as Orchestra does, with the version beside them", async () => {
    await using workspace = await Workspace.create();
    const { storage } = workspace;
    const metadata = { status: "todo", id: "FEAT-A" };
    await storage.write("app/features/FEAT-A.md", { ...document("# A\n"), metadata }, 0);
    await storage.write("app/features/FEAT-A.md", { ...document("# B\n"), metadata }, 1);
    await storage.write("app/project.json", document("{}"), 0);
    assert.deepEqual(await workspace.files(), [
      "app/features/FEAT-A.md",
      "app/features/FEAT-A.md.version",
      "app/project.json",
      "app/project.json.version",
    ]);
    const text = "---\nid: FEAT-A\nstatus: todo\n---\n\n# B\n";
    assert.equal(await workspace.text("app/features/FEAT-A.md"), text);
    assert.equal(await workspace.text("app/features/FEAT-A.md.version"), "2");
    await storage.delete("app/features/FEAT-A.md");
    assert.deepEqual(await workspace.files(), ["app/project.json", "app/project.json.version"]);
  });

  it("reads files that somebody else wrote, with and without a version", async () => {
    await using workspace = await Workspace.create({
      "a.md": "---\nn: 1\n---\n\nA",
      "a.md.version": "7\n",
      "b.md": "B",
      "deep/c.md": "C",
      "deep/d.txt": "D",
    });
    const { storage } = workspace;
    const a = await storage.read("a.md");
    assert.deepEqual([String(a!.content), a!.metadata, a!.version], ["A", { n: 1 }, 7]);
    assert.equal((await storage.read("b.md"))?.version, 0);
    await assert.rejects(storage.write("b.md", document("x"), 0), /it is at version 0/);
    assert.equal(await storage.write("b.md", document("x"), -1), 1);
    assert.equal(await storage.write("a.md", document("x"), 7), 8);
    const time = new Date("2025-01-16T14:30:00Z");
    await utimes(workspace.at("deep/c.md"), time, time);
    assert.deepEqual(await storage.list("deep"), [
      { path: "deep/c.md", size: 1, version: 0, modifiedAt: time },
    ]);
    assert.deepEqual(
      (await storage.list("")).map(({ path, version }) => `${path} ${version}`),
      ["a.md 8", "b.md 1", "deep/c.md 0"],
    );
    assert.deepEqual(
      (await storage.list("", "*")).map(({ path }) => path),
      ["a.md", "b.md", "deep/c.md", "deep/d.txt"],
    );
  });

  it("keeps the mode of a file that it replaces", async () => {
    await using workspace = await Workspace.create({ "a.md": "A" });
    await chmod(workspace.at("a.md"), 0o666);
    await workspace.storage.write("a.md", document("B"), -1);
    assert.equal((await stat(workspace.at("a.md"))).mode & 0o777, 0o666);
  });

  it("ignores an update that was interrupted between version and document", async () => {
    await using workspace = await Workspace.create({ "a.md": "old", "a.md.version": "2" });
    const { storage } = workspace;
    // Whoever had read version 1 must look again, and finds what it knew.
    await assert.rejects(storage.write("a.md", document("x"), 1), /it is at version 2/);
    assert.equal(String((await storage.read("a.md"))?.content), "old");
    assert.equal(await storage.write("a.md", document("new"), 2), 3);
  });

  it("continues the version count after an interrupted creation or deletion", async () => {
    await using workspace = await Workspace.create({ "a.md.version": "4" });
    const { storage } = workspace;
    assert.equal(await storage.read("a.md"), undefined);
    assert.deepEqual(await storage.list("", "*"), []);
    await assert.rejects(storage.write("a.md", document("x"), 4), /there is none/);
    assert.equal(await storage.write("a.md", document("x"), 0), 5);
  });

  it("removes leftovers of killed processes, and nothing else", async () => {
    await using workspace = await Workspace.create({
      ".trunkline/left.tmp": "x",
      "mine.tmp": "y",
    });
    await workspace.storage.write("a.md", document("x"), 0);
    assert.deepEqual(await readdir(workspace.at(".trunkline")), ["lock"]);
    assert.equal(await workspace.text("mine.tmp"), "y");
  });

  it("hides its own folder, also from git, and lets nobody use it", async () => {
    await using workspace = await Workspace.create();
    const { storage } = workspace;
    await run("git", ["init", "-q", workspace.sample.folder]);
    await storage.write("a.md", document("x"), 0);
    const { stdout } = await run("git", [
      "-C",
      workspace.sample.folder,
      "status",
      "--porcelain",
      "-uall",
    ]);
    assert.deepEqual(stdout.split("\n").toSorted(), [
      "",
      "?? .projects/a.md",
      "?? .projects/a.md.version",
    ]);
    assert.deepEqual(
      (await storage.list("", "*")).map(({ path }) => path),
      ["a.md"],
    );
    for (const path of [".trunkline/lock", ".trunkline", "./.Trunkline/x", "a.md.version"]) {
      await assert.rejects(storage.read(path), { code: "usage" });
      await assert.rejects(storage.write(path, document("x"), -1), { code: "usage" });
      await assert.rejects(storage.delete(path), { code: "usage" });
    }
  });

  it("reports malformed metadata, and neither reads nor overwrites it", async () => {
    const files = { "open.md": "---\na: 1\n\n# Mine\n", "wrong.md": "---\na: [\n---\nmine\n" };
    await using workspace = await Workspace.create({ ...files, "open.md.version": "3" });
    const { storage } = workspace;
    for (const [path, text] of Object.entries(files)) {
      const says = new RegExp(`Cannot read the frontmatter of '${path}'`);
      await assert.rejects(storage.read(path), says);
      await assert.rejects(storage.write(path, document("x"), -1), says);
      assert.equal(await workspace.text(path), text);
    }
    await assert.rejects(storage.write("open.md", document("x"), 3), /frontmatter/);
    assert.equal(await workspace.text("open.md.version"), "3");
    assert.equal((await storage.list("")).length, 2);
    assert.equal(await storage.delete("wrong.md"), true);
  });

  it("invents no version if it cannot be read", async () => {
    await using workspace = await Workspace.create({ "a.md": "A", "a.md.version": "many" });
    const { storage } = workspace;
    const says = {
      code: "config",
      message: /a\.md\.version': it is not a number. Write the version/,
    };
    await assert.rejects(storage.read("a.md"), says);
    await assert.rejects(storage.write("a.md", document("x"), -1), says);
    assert.equal(await workspace.text("a.md"), "A");
    await rm(workspace.at("a.md.version"));
    assert.equal((await storage.read("a.md"))?.version, 0);
  });

  it("follows no link out of the workspace", async () => {
    await using workspace = await Workspace.create({ "a.md": "A" });
    const { storage, sample } = workspace;
    const outside = join(dirname(sample.folder), "outside");
    await mkdir(outside);
    await writeFile(join(outside, "secret.md"), "secret");
    await symlink(outside, workspace.at("out"));
    await symlink("../../outside", workspace.at("relative"));
    await symlink(join(outside, "secret.md"), workspace.at("link.md"));
    await symlink(join(outside, "none"), workspace.at("dangling"));
    await symlink("loop", workspace.at("loop"));
    const paths = ["out/secret.md", "out/new.md", "relative/secret.md", "link.md"];
    for (const path of [...paths, "dangling/new.md", "out/deep/new.md", "loop/x.md"]) {
      await assert.rejects(storage.read(path), /Cannot/, path);
      await assert.rejects(storage.write(path, document("x"), -1), /Cannot/, path);
      await assert.rejects(storage.delete(path), /Cannot/, path);
    }
    await assert.rejects(storage.list("out"), { code: "untrusted" });
    assert.deepEqual(
      (await storage.list("")).map(({ path }) => path),
      ["a.md"],
    );
    assert.deepEqual(await readdir(outside), ["secret.md"]);
    assert.equal(await readFile(join(outside, "secret.md"), "utf8"), "secret");
  });

  it("writes nothing if all of its folders lead out of the workspace", async () => {
    await using workspace = await Workspace.create();
    const outside = join(dirname(workspace.sample.folder), "outside");
    await mkdir(outside);
    const projects = join(workspace.sample.folder, ".projects");
    await symlink(outside, projects);
    await assert.rejects(workspace.storage.write("a.md", document("x"), 0), { code: "untrusted" });
    await rm(projects);
    await mkdir(projects);
    await symlink(outside, workspace.at(".trunkline"));
    await assert.rejects(workspace.storage.write("a.md", document("x"), 0), { code: "untrusted" });
    assert.deepEqual(await readdir(outside), []);
  });

  it("follows links to folders of the workspace", async () => {
    await using workspace = await Workspace.create();
    const { storage, sample } = workspace;
    await mkdir(join(sample.folder, "docs"));
    await symlink("docs", join(sample.folder, ".projects"));
    await storage.write("a/b.md", document("x"), 0);
    assert.equal(await readFile(join(sample.folder, "docs/a/b.md"), "utf8"), "x");
    assert.equal((await storage.list("a"))[0]?.path, "a/b.md");
    assert.equal((await storage.list("")).length, 1);
  });

  it("is not blocked by a file that is not a document", async () => {
    await using workspace = await Workspace.create({ "folder.md/a.txt": "", "file.md": "x" });
    const { storage } = workspace;
    await run("mkfifo", [workspace.at("pipe.md")]);
    for (const path of ["folder.md", "pipe.md"]) {
      await assert.rejects(storage.read(path), { code: "usage", message: /as a document/ });
      await assert.rejects(storage.write(path, document("x"), -1), { code: "usage" });
      await assert.rejects(storage.delete(path), { code: "usage" });
    }
    assert.equal(await storage.read("file.md/a.md"), undefined);
    await assert.rejects(storage.write("file.md/a.md", document("x"), 0), {
      code: "unavailable",
      message: /^Cannot write 'file\.md\/a\.md': /,
    });
    assert.deepEqual(
      (await storage.list("")).map(({ path }) => path),
      ["file.md"],
    );
  });

  it("does not read a file that is too large", async () => {
    await using workspace = await Workspace.create();
    await mkdir(workspace.at(""));
    await writeFile(workspace.at("big.md"), Buffer.alloc(18 * 1024 * 1024));
    await assert.rejects(workspace.storage.read("big.md"), { code: "limit" });
  });

  it("reports that the workspace does not exist, and does not create it", async () => {
    await using workspace = await Workspace.create();
    await rm(workspace.sample.folder, { recursive: true });
    await assert.rejects(workspace.storage.read("a.md"), /Cannot read 'a\.md': no such file/);
    await assert.rejects(workspace.storage.write("a.md", document("x"), 0), /no such file/);
    await assert.rejects(stat(workspace.sample.folder), { code: "ENOENT" });
  });

  it("can read without write permission", async () => {
    await using workspace = await Workspace.create({ "a.md": "A", "a.md.version": "2" });
    const isRoot = process.getuid?.() === 0;
    await chmod(dirname(workspace.sample.folder), 0o755);
    if (!isRoot) await chmod(workspace.at(""), 0o555);
    const child = workspace.sample.spawn(`
      if (${isRoot}) process.seteuid(65534);
      console.log(String((await storage.read("a.md")).content));
      await storage.write("a.md", { content: Buffer.of() }, 2).catch((e) => console.log(e.message));`);
    const lines: string[] = [];
    for await (const line of createInterface({ input: child.stdout! })) lines.push(line);
    if (!isRoot) await chmod(workspace.at(""), 0o755);
    assert.equal(lines[0], "A");
    assert.match(lines[1]!, /^Cannot write 'a\.md': permission denied/);
    assert.deepEqual(await workspace.files(), ["a.md", "a.md.version"]);
  });

  it("never shows a new version with the old document", async () => {
    await using workspace = await Workspace.create();
    const { storage } = workspace;
    const child = workspace.sample.spawn(`
      for (let n = 1; n <= 150; n++) {
        await storage.write("a.md", { content: Buffer.from(String(n)) }, n - 1);
      }`);
    const exit = once(child, "exit");
    while (child.exitCode === null && child.signalCode === null) {
      const found = await storage.read("a.md");
      if (found !== undefined) assert.equal(String(found.content), String(found.version));
    }
    assert.deepEqual(await exit, [0, null]);
  });
});

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { GitAnswer } from "../../git/git.ts";
import { type ServerCall, ServerGit } from "../../git/server/server-git.ts";
import { ServerRepository } from "../../../test/support/server-repository.ts";
import type { ScanLimits } from "./scan.ts";
import { stageChanges } from "../deliver.ts";

const LIMITS: ScanLimits = { maxFile: 1_000, maxTotal: 5_000, maxFiles: 20, denied: [] };

/** The files of the index that was made, as `mode path`. */
async function stage({ git, tree }: ServerRepository, limits: Partial<ScanLimits> = {}) {
  const { index, problems } = await stageChanges(git, tree, { ...LIMITS, ...limits });
  const env = { GIT_INDEX_FILE: index };
  const listed = await git.text(["ls-files", "--stage"], { env });
  const files = listed.split("\n").map((line) => line.replace(/ .*\t/, " "));
  const read = (path: string) => git.text(["cat-file", "blob", `:${path}`], { env });
  return { files, problems, read };
}

/** Git that calls back after it has listed the files, or before it reads them. */
class SlowGit extends ServerGit {
  readonly #meanwhile: () => void;
  readonly #when: "status" | "update-index";

  constructor(
    { gitDir, workTree = "" }: Pick<ServerGit, "gitDir" | "workTree">,
    meanwhile: () => void,
    when: "status" | "update-index" = "status",
  ) {
    super({ gitDir, workTree, askpass: "/bin/false" });
    this.#meanwhile = meanwhile;
    this.#when = when;
  }

  override async run(args: readonly string[], call?: ServerCall): Promise<GitAnswer> {
    if (args[0] === "update-index" && this.#when === "update-index") this.#meanwhile();
    const answer = await super.run(args, call);
    if (args[0] === "status" && this.#when === "status") this.#meanwhile();
    return answer;
  }

  override on(workTree: string): ServerGit {
    return new SlowGit({ gitDir: this.gitDir, workTree }, this.#meanwhile, this.#when);
  }
}

describe("stageChanges()", () => {
  it("takes a change of the same size within the second in which the index was written", async () => {
    using sample = new ServerRepository();
    // A test cannot set the time of the last change of status, which git compares too.
    for (const setting of ["core.trustctime=false", "core.checkStat=minimal"]) {
      sample.run("config", ...setting.split("="));
    }
    const then = new Date("2026-01-02T03:04:05.600Z");
    const file = join(sample.tree, "README.md");
    utimesSync(file, then, then);
    sample.run("update-index", "--refresh");
    sample.write("README.md", "HELLO\n");
    for (const path of [file, join(sample.tree, ".git/index")]) utimesSync(path, then, then);
    const { read } = await stage(sample);
    assert.equal(await read("README.md"), "HELLO");
  });

  it("stages files, programs, links and deletions, also where a file replaces a folder", async () => {
    using repository = new ServerRepository();
    repository.write("gone", "");
    repository.write("was-file", "");
    mkdirSync(join(repository.tree, "was-folder"));
    repository.write("was-folder/file", "");
    repository.commit("More");
    for (const path of ["gone", "was-file", "was-folder"]) {
      rmSync(join(repository.tree, path), { recursive: true });
    }
    mkdirSync(join(repository.tree, "was-file/deep"), { recursive: true });
    repository.write("was-file/deep/new", "new");
    repository.write("was-folder", "now a file");
    symlinkSync("README.md", join(repository.tree, "link"));
    repository.write("run.sh", "#!/bin/sh\n");
    chmodSync(join(repository.tree, "run.sh"), 0o755);
    const { files, problems, read } = await stage(repository);
    assert.deepEqual(problems, []);
    assert.deepEqual(files, [
      "100644 README.md",
      "120000 link",
      "100755 run.sh",
      "100644 was-file/deep/new",
      "100644 was-folder",
    ]);
    assert.equal(await read("was-folder"), "now a file");
    assert.equal(repository.run("diff", "--cached", "--name-only"), "", "git's own index stays");
  });

  it("reads no file outside of the tree when a folder is replaced by a link after git has listed it", async () => {
    using repository = new ServerRepository();
    const { tree, folder, git } = repository;
    mkdirSync(join(folder, "outside"));
    repository.write("../outside/shadow", "secret of the server");
    mkdirSync(join(tree, "sub"));
    for (const path of ["sub/shadow", "shadow"]) repository.write(path, "mine");
    const slow = new SlowGit(git, () => {
      renameSync(join(tree, "sub"), join(folder, "moved"));
      symlinkSync("../outside", join(tree, "sub"));
      rmSync(join(tree, "shadow"));
      symlinkSync("../outside/shadow", join(tree, "shadow"));
    });
    const { index } = await stageChanges(slow, tree, LIMITS);
    const env = { GIT_INDEX_FILE: index };
    const listed = await git.text(["ls-files", "--stage"], { env });
    assert.match(listed, /^120000 \S+ 0\tshadow$/m);
    assert.doesNotMatch(listed, /sub\/shadow/);
    const all = await git.text(["cat-file", "--batch", "--batch-all-objects"]);
    assert.doesNotMatch(all, /secret of the server/);
  });

  it("stages the copy, even if the file has changed since", async () => {
    using repository = new ServerRepository();
    const { tree, git } = repository;
    repository.write("new", "as it was");
    const slow = new SlowGit(git, () => repository.write("new", "as it is now"), "update-index");
    const { index } = await stageChanges(slow, tree, LIMITS);
    const env = { GIT_INDEX_FILE: index };
    assert.equal(await git.text(["cat-file", "blob", ":new"], { env }), "as it was");
  });

  it("stops at the limit for a file that grows, and refuses a sparse file", async () => {
    using repository = new ServerRepository();
    const { tree, git } = repository;
    for (const path of ["grows", "sparse"]) repository.write(path, "");
    truncateSync(join(tree, "sparse"), 2 ** 40);
    const slow = new SlowGit(git, () => repository.write("grows", "x".repeat(1_001)));
    const { problems } = await stageChanges(slow, tree, LIMITS);
    assert.deepEqual(
      problems.map(({ path, why }) => `${path}: ${why}`),
      [
        "grows: it has 1001 bytes, over the limit of 1000",
        `sparse: it has ${2 ** 40} bytes, over the limit of 1000`,
      ],
    );
  });

  it("does not block on a pipe that replaces a file", async () => {
    using repository = new ServerRepository();
    rmSync(join(repository.tree, "README.md"));
    execFileSync("mkfifo", [join(repository.tree, "README.md")]);
    const { problems } = await stage(repository);
    assert.deepEqual(problems, [
      { path: "README.md", why: "it is neither a regular file nor a link" },
    ]);
  });

  it("reports files that git cannot convert as their attributes say, and stages the others", async () => {
    using repository = new ServerRepository();
    repository.write(".gitattributes", "*.txt working-tree-encoding=UTF-16\n");
    for (const path of ["a.txt", "b.txt", "c"]) repository.write(path, "not in UTF-16");
    const { files, problems } = await stage(repository);
    assert.deepEqual(
      problems.map(({ path }) => path),
      ["a.txt", "b.txt"],
    );
    assert.match(problems[0]?.why ?? "", /^git cannot add it: .*UTF-16/);
    assert.ok(files.includes("100644 c"));
  });

  it("leaves no copies behind", async () => {
    using repository = new ServerRepository();
    repository.write("new", "x");
    await stage(repository);
    const left = readdirSync(repository.git.gitDir).filter((name) => name.includes("files"));
    assert.deepEqual(left, []);
  });
});

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import {
  existsSync,
  mkdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { ServerRepository } from "../../../test/support/server-repository.ts";
import {
  DENIED_NAMES,
  findSecret,
  isDisguised,
  nameJudge,
  type ScanResult,
  scanIndex,
  type ScanLimits,
} from "./scan.ts";
import { stageChanges } from "../deliver.ts";

const find = (text: string, before?: string): string | undefined =>
  findSecret(Buffer.from(text), before === undefined ? undefined : Buffer.from(before));
/** Put together here, so that no scanner reports this file. */
const of = (...parts: string[]): string => parts.join("");

describe("findSecret()", () => {
  it("recognises secrets by their patterns", () => {
    const samples = {
      "a private key": of("-----BEGIN OPENSSH ", "PRIVATE KEY-----\nAAAA"),
      "an AWS access key": of("AKIA", "A".repeat(16)),
      "a GitHub token": of("ghp_", "a".repeat(36)),
      "a GitLab token": of("glpat-", "a".repeat(20)),
      "an npm token": of("npm_", "a".repeat(36)),
      "an Anthropic key": of("sk-ant-", "a".repeat(32)),
      "an OpenAI key": of("sk-proj-", "a".repeat(40)),
      "a Slack token": of("xoxb-", "1".repeat(20)),
      "a Google key": of("AIza", "a".repeat(35)),
      "a token of Trunkline": of("tlk_", "a".repeat(20)),
    };
    for (const [name, sample] of Object.entries(samples)) {
      assert.equal(find(`x = "${sample}"`), name);
    }
    for (const text of [
      "sk-short",
      "-----BEGIN CERTIFICATE-----",
      "ghp_",
      "AKIALOWERcase1234567",
    ]) {
      assert.equal(find(text), undefined, text);
    }
  });

  it("finds a new secret beside one that was there before", () => {
    const [old, other] = ["a", "b"].map((letter) => of("ghp_", letter.repeat(36)));
    assert.equal(find(`${old}\nmore`, `${old}`), undefined);
    assert.equal(find(`${old} ${other}`, `${old}`), "a GitHub token");
  });
});

describe("nameJudge()", () => {
  const judge = nameJudge([...DENIED_NAMES, ".github/workflows/*"]);

  it("refuses the names in any letter case and any folder, and configured paths", () => {
    for (const path of [".env", ".ENV", "a/.env.local", "a/B.PEM", ".github/workflows/ci.yml"]) {
      assert.match(judge(path) ?? "", /not committed/, path);
    }
    for (const path of ["env", "a.env", ".environment", "pem", ".github/workflows/a/b", "a.keys"]) {
      assert.equal(judge(path), undefined, path);
    }
  });

  it("refuses invisible characters in names", () => {
    for (const path of ["a\u0007", "a\nb", "gnp.\u202eexe", "\u2066x"]) {
      assert.match(judge(path) ?? "", /invisible/);
    }
    assert.equal(judge("naïve/日本語 (1).txt"), undefined);
  });
});

describe("isDisguised()", () => {
  it("recognises names that Windows and macOS read as .git or .gitmodules", () => {
    const names = [".GIT", ".git.", ".git ", "GIT~1", ".git::$INDEX_ALLOCATION", ".gi\u200dt"];
    for (const name of [...names, ".gitmodules ", "GITMOD~2", "gi7eba~1", String.raw`x\.git`]) {
      assert.ok(isDisguised(`a/${name}/b`), name);
    }
    for (const name of [".gitignore", ".github", "git", ".gitmodules", "git~2", "x.git"]) {
      assert.ok(!isDisguised(`a/${name}/b`), name);
    }
  });
});

const LIMITS: ScanLimits = { maxFile: 1_000, maxTotal: 1_500, maxFiles: 5, denied: DENIED_NAMES };

/** Put together here, so that no scanner reports this file. */
const TOKEN = `ghp_${"a".repeat(36)}`;
const KEY = ["-----BEGIN ", "PRIVATE KEY-----"].join("");

async function scan(
  { git, tree }: ServerRepository,
  limits: Partial<ScanLimits> = {},
): Promise<ScanResult> {
  const { index, problems: unstaged } = await stageChanges(git, tree, { ...LIMITS, ...limits });
  const { changed, problems } = await scanIndex(git, index, DENIED_NAMES);
  return { changed, problems: [...unstaged, ...problems] };
}

/** What is wrong with a file, if anything. */
async function problemOf(repository: ServerRepository, path: string): Promise<string | undefined> {
  const { problems } = await scan(repository);
  return problems.find((problem) => problem.path === path)?.why;
}

describe("scanIndex()", () => {
  it("lists added, changed and deleted files, and no ignored ones", async () => {
    using repository = new ServerRepository();
    repository.write("gone", "");
    repository.commit("More");
    rmSync(join(repository.tree, "gone"));
    repository.write("README.md", "changed");
    repository.write("with space", "new");
    repository.write(".gitignore", "*.log\n");
    repository.write("a.log", "noise");
    const { changed, problems } = await scan(repository);
    assert.deepEqual(changed.toSorted(), [".gitignore", "README.md", "gone", "with space"]);
    assert.deepEqual(problems, []);
  });

  it("refuses names that often hold secrets, in any folder and letter case", async () => {
    using repository = new ServerRepository();
    mkdirSync(join(repository.tree, "deep"));
    for (const path of [".env.local", "deep/ID_RSA", "server.pem", "environment"]) {
      repository.write(path, "x");
    }
    const { problems } = await scan(repository);
    const names = problems.map(({ path }) => path).toSorted();
    assert.deepEqual(names, [".env.local", "deep/ID_RSA", "server.pem"]);
  });

  it("refuses a file that seems to contain a secret, in any encoding", async () => {
    using repository = new ServerRepository();
    const utf16 = Buffer.from(`the token is ${TOKEN}.`, "utf16le");
    const files: Record<string, string | Buffer> = {
      plain: `the key is AKIA${"A".repeat(16)}.`,
      late: `${"x".repeat(3 << 20)} ${TOKEN}`,
      binary: Buffer.concat([Buffer.from([0, 255, 1]), Buffer.from(TOKEN)]),
      utf16,
      swapped: Buffer.from(utf16).swap16(),
      // A file that only begins like a Git LFS pointer is not a pointer.
      pointer: `version https://git-lfs.github.com/spec/v1\n${TOKEN}`,
      pgp: KEY.replace("PRIVATE KEY", "PGP PRIVATE KEY BLOCK"),
    };
    for (const [path, text] of Object.entries(files)) repository.write(path, text);
    repository.write(TOKEN, "");
    symlinkSync(TOKEN, join(repository.tree, "link"));
    // A name that is not UTF-8.
    writeFileSync(Buffer.concat([Buffer.from(`${repository.tree}/`), Buffer.of(0xff)]), TOKEN);
    const { problems } = await scan(repository, {
      maxFile: 4 << 20,
      maxTotal: 8 << 20,
      maxFiles: 20,
    });
    const paths = problems.map(({ path }) => path);
    assert.deepEqual(paths.toSorted(), [...Object.keys(files), "\ufffd", "link", TOKEN].toSorted());
    assert.equal(problems[0]?.why, "it seems to hold a GitHub token");
  });

  it("scans what git would commit, not the file on disk", async () => {
    using repository = new ServerRepository();
    repository.write(".gitattributes", "*.txt working-tree-encoding=UTF-7\n");
    // In UTF-7, as `+AHM-`, no pattern matches; git would commit it decoded.
    repository.write("a.txt", `+AGc-${TOKEN.slice(1)}`);
    assert.match((await problemOf(repository, "a.txt")) ?? "", /a GitHub token/);
  });

  it("accepts a secret that the file had before, but no other one, and not in another file", async () => {
    using repository = new ServerRepository();
    repository.write("sample", `${KEY}\nAAAA\n`);
    repository.commit("A sample key");
    repository.write("sample", `# of a test\n${KEY}\nAAAA\n`);
    assert.equal(await problemOf(repository, "sample"), undefined);
    repository.write("sample", `${KEY}\nBBBB\n`);
    assert.match((await problemOf(repository, "sample")) ?? "", /a private key/);
    renameSync(join(repository.tree, "sample"), join(repository.tree, "renamed"));
    assert.match((await problemOf(repository, "renamed")) ?? "", /a private key/);
  });

  it("refuses content of Git LFS, and a pointer to an object that nobody uploaded", async () => {
    using repository = new ServerRepository();
    const pointer = (content: string): string =>
      `version https://git-lfs.github.com/spec/v1\noid sha256:${createHash("sha256").update(content).digest("hex")}\nsize ${content.length}\n`;
    repository.write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n");
    repository.write("old.bin", pointer("old"));
    repository.write("notes", "raw");
    repository.commit("With Git LFS");
    repository.write("raw.bin", "raw");
    repository.write("long.bin", "x".repeat(999).padEnd(1_024, "y"));
    repository.write("new.bin", pointer("new"));
    repository.write("copy.bin", pointer("old"));
    repository.write("empty.bin", "");
    const { problems } = await scan(repository, { maxFile: 2_000, maxTotal: 5_000 });
    const found = problems.map(({ path, why }) => `${path}: ${why}`).toSorted();
    assert.equal(found.length, 3, found.join("\n"));
    assert.match(found[0] ?? "", /^long\.bin: .*stores files of this name in Git LFS/);
    assert.match(found[1] ?? "", /^new\.bin: .*new pointer of Git LFS/);
    assert.match(found[2] ?? "", /^raw\.bin: .*stores files of this name in Git LFS/);
    for (const path of ["raw.bin", "long.bin", "new.bin"]) rmSync(join(repository.tree, path));
    assert.deepEqual((await scan(repository)).problems, []);
    repository.write(".gitattributes", "* filter=lfs\n");
    const after = (await scan(repository)).problems.map(({ path }) => path);
    assert.deepEqual(after.toSorted(), [".gitattributes", "README.md", "notes"]);
  });

  it("refuses a link that leads out of the repository or into .git, and accepts others", async () => {
    using repository = new ServerRepository();
    const links = {
      out: "../../etc/passwd",
      absolute: "/etc",
      git: ".git/config",
      otherGit: "sub/.GIT/config",
      // `sub/up` is the repository itself, so `sub/up/..` is outside of it.
      detour: "sub/up/../x",
      windows: String.raw`..\..\x`,
      drive: "C:/Users",
      fine: "README.md",
      alsoFine: "..x/y",
    };
    mkdirSync(join(repository.tree, "sub"));
    symlinkSync("..", join(repository.tree, "sub/up"));
    for (const [name, to] of Object.entries(links)) symlinkSync(to, join(repository.tree, name));
    const { problems } = await scan(repository, { maxFiles: 20 });
    const found = problems.map(({ path }) => path).toSorted();
    assert.deepEqual(found, ["absolute", "detour", "drive", "git", "otherGit", "out", "windows"]);
    assert.match(problems[0]?.why ?? "", /it is a link to '\/etc'/);
  });

  it("refuses names that other systems read as .git, and names with invisible characters", async () => {
    using repository = new ServerRepository();
    const names = [
      ".GIT",
      "git~1",
      ".git ",
      ".g\u200cit",
      ".git::$INDEX_ALLOCATION",
      ".Gitmodules",
    ];
    for (const name of names) {
      mkdirSync(join(repository.tree, name));
      repository.write(`${name}/config`, "[core]\n\tfsmonitor = id\n");
    }
    repository.write("a\u202etxt.exe", "x");
    repository.write("line\nbreak", "x");
    const { problems } = await scan(repository, { maxFiles: 20 });
    const hidden = problems.filter(({ why }) => why.includes("invisible")).map(({ path }) => path);
    assert.deepEqual(hidden.toSorted(), ["a\u202etxt.exe", "line\nbreak"]);
    const disguised = problems.filter(({ why }) => why.includes("Windows or macOS"));
    assert.deepEqual(
      disguised.map(({ path }) => path).toSorted(),
      names.map((name) => `${name}/config`).toSorted(),
    );
  });

  it("refuses a submodule that is new or has a new address, and accepts the removal of one", async () => {
    using repository = new ServerRepository();
    const module = (name: string, url: string): string =>
      `[submodule "${name}"]\n\tpath = ${name}\n\turl = ${url}\n`;
    const a = module("a", "https://example.com/a");
    repository.write(".gitmodules", a + module("b", "https://example.com/b"));
    repository.run("update-index", "--add", "--cacheinfo", `160000,${repository.revision},a`);
    repository.run("add", ".gitmodules");
    repository.run("commit", "--quiet", "--message", "Submodules");
    mkdirSync(join(repository.tree, "a"));
    const problem = async (text: string) => {
      repository.write(".gitmodules", text);
      return await problemOf(repository, ".gitmodules");
    };
    assert.equal(await problem(a), undefined);
    assert.match((await problem(module("a", "https://evil.example"))) ?? "", /from a new address/);
    assert.match((await problem(`${a}\tupdate = !id\n`)) ?? "", /from a new address/);
    assert.match((await problem("[submodule")) ?? "", /cannot read/);
    rmSync(join(repository.tree, ".gitmodules"));
    symlinkSync("README.md", join(repository.tree, ".gitmodules"));
    assert.equal(await problemOf(repository, ".gitmodules"), "it is a link");
  });

  it("runs no program in a submodule, even if its configuration and .gitmodules ask for it", async () => {
    using repository = new ServerRepository();
    repository.write(".gitmodules", `[submodule "a"]\n\tpath = a\n\turl = https://example.com/a\n`);
    repository.run("update-index", "--add", "--cacheinfo", `160000,${repository.revision},a`);
    repository.run("add", ".gitmodules");
    repository.run("commit", "--quiet", "--message", "A submodule");
    execFileSync("git", ["clone", "--quiet", repository.remote, join(repository.tree, "a")]);
    const ran = join(repository.folder, "ran");
    repository.write("a/.gitattributes", "* filter=evil\n");
    for (const [key, value] of [
      ["filter.evil.clean", `touch ${ran}; cat`],
      ["core.fsmonitor", `touch ${ran}`],
    ] as const) {
      execFileSync("git", ["-C", join(repository.tree, "a"), "config", key, value]);
    }
    // The size is the same as before, so git has to read the file to see that it differs.
    repository.write("a/README.md", "hellO\n");
    utimesSync(join(repository.tree, "a/README.md"), 1, 1);
    repository.run("config", "--file", ".gitmodules", "submodule.a.ignore", "none");
    await scan(repository);
    assert.ok(!existsSync(ran));
  });

  it("refuses a submodule in the index, even if .gitmodules tells git to ignore it", async () => {
    using repository = new ServerRepository();
    const index = join(repository.git.gitDir, "index");
    const put = (name: string, commit: string): string =>
      repository.run("update-index", "--add", "--cacheinfo", `160000,${commit},${name}`);
    put("moved", repository.revision);
    repository.run("commit", "--quiet", "--message", "A submodule");
    put("moved", "1".repeat(40));
    put("new", repository.revision);
    const hidden = (name: string): string =>
      `[submodule "${name}"]\n\tpath = ${name}\n\turl = x\n\tignore = all\n`;
    repository.write(".gitmodules", hidden("new") + hidden("moved"));
    const { problems } = await scanIndex(repository.git, index, []);
    assert.deepEqual(
      problems.map(({ path, why }) => `${path}: ${why}`),
      ["moved: it would become a submodule", "new: it would become a submodule"],
    );
  });

  it("refuses a repository inside the repository", async () => {
    using repository = new ServerRepository();
    execFileSync("git", ["init", "--quiet", "nested"], { cwd: repository.tree });
    assert.match((await problemOf(repository, "nested/")) ?? "", /repository of its own/);
  });

  it("refuses a file over the limit, files over the limit together, and too many files", async () => {
    using repository = new ServerRepository();
    repository.write("large", "x".repeat(1_001));
    assert.match(
      (await problemOf(repository, "large")) ?? "",
      /1001 bytes, over the limit of 1000/,
    );
    repository.write("large", "x".repeat(1_000));
    repository.write("more", "x".repeat(501));
    assert.match((await problemOf(repository, "more")) ?? "", /together are over 1500 bytes/);
    const { problems } = await scan(repository, { maxFiles: 1 });
    assert.match(problems[0]?.why ?? "", /one of 2 changed files, over the limit of 1/);
  });
});

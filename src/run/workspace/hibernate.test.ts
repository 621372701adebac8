// Long: large files are packed and unpacked.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { noOverlay } from "../../../test/support/no-overlay.ts";

import { NO_CREDENTIALS } from "../../../test/samples/sample-credentials.ts";
import { ServerRepository } from "../../../test/support/server-repository.ts";
import { type CachedRepository, RepositoryCache } from "../repository-cache.ts";
import { WorkspaceBases } from "./bases.ts";
import { CopyDriver } from "./copy.ts";
import { diskUse, type Workspace, Workspaces } from "./workspace.ts";
import type { FileOwner, WorkspaceDriver } from "./driver.ts";
import { OverlayDriver } from "./overlay.ts";

const SESSION = "abcdefgh";
const HOUR = 60 * 60_000;
const DRIVERS: [string, () => WorkspaceDriver, string | false][] = [
  ["copies", () => new CopyDriver("copy"), false],
  ["overlayfs", () => new OverlayDriver(), noOverlay],
];

/** A workspace on a repository whose files git would convert: line ends, keywords. */
class Rig implements AsyncDisposable {
  readonly sample = new ServerRepository();
  readonly folder = join(this.sample.folder, "work");
  readonly bases = join(this.sample.folder, "bases");
  readonly failures: unknown[] = [];
  readonly #driver: WorkspaceDriver;
  readonly repository: CachedRepository;
  readonly workspaces: Workspaces;
  readonly revision: string;

  private constructor(driver: WorkspaceDriver) {
    this.#driver = driver;
    const { sample } = this;
    sample.write(".gitattributes", "*.txt text eol=crlf\n*.id ident\n");
    sample.write(".gitignore", "ignored/\n*.log\n");
    for (const name of ["gone.md", "script.sh", "a.txt", "b.id"]) sample.write(name, "a\nb\n");
    this.revision = sample.commit("Files");
    sample.run("push", "--quiet", "origin", "HEAD:main");
    const common = { askpass: "/bin/false", protocols: ["file"] };
    const report = (): void => {};
    const cache = new RepositoryCache({ folder: join(sample.folder, "cache"), report, ...common });
    this.repository = cache.at(sample.url, NO_CREDENTIALS);
    const bases = new WorkspaceBases({ folder: this.bases, most: 1 });
    this.workspaces = new Workspaces({ folder: this.folder, bases, driver, ...common });
  }

  static async open(driver: WorkspaceDriver = new CopyDriver("copy")): Promise<Rig> {
    const rig = new Rig(driver);
    await rig.repository.fill(NO_CREDENTIALS);
    return rig;
  }

  get away(): boolean {
    return !existsSync(join(this.folder, SESSION, "tree"));
  }

  work(owner?: FileOwner): Promise<Workspace> {
    const { repository, revision } = this;
    const branch = `agent/${SESSION}`;
    return this.workspaces.open({ session: SESSION, repository, revision, branch, owner });
  }

  /** Hibernates workspaces that have been closed for so long. */
  async hibernate(closedFor: number): Promise<void> {
    const then = new Date(Date.now() - closedFor);
    utimesSync(join(this.folder, SESSION, "workspace.json"), then, then);
    await this.workspaces.hibernate({
      after: HOUR,
      repositoryOf: () => this.repository,
      signal: new AbortController().signal,
      failed: (_, error) => this.failures.push(error),
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#driver.close(join(this.folder, SESSION));
    await (this.#driver as Partial<AsyncDisposable>)[Symbol.asyncDispose]?.();
    this.sample[Symbol.dispose]();
  }
}

/** What an agent leaves: new, changed, deleted and moved files, links, modes, odd names and line ends. */
function change(tree: string): void {
  writeFileSync(join(tree, "README.md"), "changed\n");
  rmSync(join(tree, "gone.md"));
  chmodSync(join(tree, "script.sh"), 0o755);
  mkdirSync(join(tree, "new/deep"), { recursive: true });
  writeFileSync(join(tree, "new/deep/untracked.bin"), Buffer.from([0, 13, 10, 255, 10]));
  writeFileSync(join(tree, "new/mixed.txt"), "one\r\ntwo\nthree\r\n");
  writeFileSync(join(tree, "new/key.id"), "$Id: of mine $\n");
  writeFileSync(join(tree, 'new/ä\n"name"'), "odd");
  writeFileSync(join(tree, "empty"), "");
  symlinkSync("../README.md", join(tree, "new/link"));
  symlinkSync("/nowhere", join(tree, "dangling"));
}

/** Every file but git's own: its path, kind, mode and content. */
function contentOf(tree: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const entry of readdirSync(tree, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(tree.length + 1);
    if (name === ".git" || name.startsWith(".git/") || entry.isDirectory()) continue;
    if (entry.isSymbolicLink()) found[name] = `-> ${readlinkSync(path)}`;
    else found[name] = `${lstatSync(path).mode & 0o111} ${readFileSync(path).toString("hex")}`;
  }
  return found;
}

for (const [name, makeDriver, skip] of DRIVERS) {
  describe(`a workspace that hibernates, with ${name}`, { timeout: 60_000, skip }, () => {
    it("restores the same files, even when its base is gone", async () => {
      await using rig = await Rig.open(makeDriver());
      const before = await rig.work();
      change(before.tree);
      const content = contentOf(before.tree);
      await before.close();
      await rig.hibernate(HOUR);
      assert.deepEqual(rig.failures, []);
      assert.ok(rig.away);
      rmSync(rig.bases, { recursive: true });
      const after = await rig.work();
      assert.deepEqual(contentOf(after.tree), content);
      // Git sees the same changes as before, and the branch is where it was.
      assert.equal(await after.git.text(["rev-parse", "HEAD"]), rig.revision);
      const status = await after.git.text(["status", "--porcelain", "README.md", "gone.md"]);
      assert.deepEqual(status.split("\n"), [" M README.md", " D gone.md"]);
      await after.close();
    });

    it("hibernates although others are removed meanwhile", async () => {
      await using rig = await Rig.open(makeDriver());
      const workspace = await rig.work();
      await workspace.close();
      const own = join(rig.folder, SESSION, "workspace.json");
      // Some of them come after it, in whatever order a folder is read.
      const others = Array.from({ length: 8 }, (_, at) => join(rig.folder, `other${at}`));
      for (const other of others) {
        mkdirSync(other);
        copyFileSync(own, join(other, "workspace.json"));
      }
      utimesSync(own, 0, 0);
      await rig.workspaces.hibernate({
        after: HOUR,
        repositoryOf: () => {
          for (const other of others) rmSync(other, { recursive: true });
          return rig.repository;
        },
        signal: new AbortController().signal,
        failed: (_, error) => rig.failures.push(error),
      });
      assert.deepEqual([rig.failures, rig.away], [[], true]);
    });

    it("can hibernate many times, and the agent can change its files each time", async () => {
      await using rig = await Rig.open(makeDriver());
      const owner = process.getuid?.() === 0 ? { uid: 61_234, gid: 61_234 } : undefined;
      let content = {};
      for (const round of ["1", "2", "3"]) {
        const workspace = await rig.work(owner);
        if (round !== "1") assert.deepEqual(contentOf(workspace.tree), content);
        for (const path of [
          "README.md",
          ".",
          ".git",
          ".git/index",
          ".git/objects/info/alternates",
        ]) {
          const { uid } = lstatSync(join(workspace.tree, path));
          assert.equal(uid, owner?.uid ?? process.getuid?.(), path);
        }
        writeFileSync(join(workspace.tree, `${round}.md`), round);
        writeFileSync(join(workspace.tree, "README.md"), round);
        if (owner) execFileSync("chown", ["-R", "61234:61234", join(workspace.tree, "README.md")]);
        content = contentOf(workspace.tree);
        await workspace.close();
        await rig.hibernate(HOUR);
        assert.ok(rig.away);
      }
    });
  });
}

describe("Workspaces.hibernate()", { timeout: 300_000 }, () => {
  it("leaves a small workspace on disk until `after` has passed", async () => {
    await using rig = await Rig.open();
    await (await rig.work()).close();
    await rig.hibernate(0);
    assert.ok(!rig.away);
    await rig.hibernate(HOUR);
    assert.ok(rig.away);
  });

  it("hibernates a large workspace at once, unless git ignores files in it", async () => {
    await using rig = await Rig.open();
    const workspace = await rig.work();
    writeFileSync(join(workspace.tree, "large"), Buffer.alloc(8 << 20));
    mkdirSync(join(workspace.tree, "ignored"));
    writeFileSync(join(workspace.tree, "ignored/module.js"), "");
    await workspace.close();
    await rig.hibernate(0);
    assert.ok(!rig.away);
    rmSync(join(workspace.tree, "ignored"), { recursive: true });
    await rig.hibernate(1);
    assert.ok(rig.away);
    const after = await rig.work();
    assert.equal(lstatSync(join(after.tree, "large")).size, 8 << 20);
    await after.close();
  });

  it("loses only ignored files, and only after `after` has passed", async () => {
    await using rig = await Rig.open();
    const workspace = await rig.work();
    change(workspace.tree);
    const content = contentOf(workspace.tree);
    writeFileSync(join(workspace.tree, "debug.log"), "x");
    await workspace.close();
    await rig.hibernate(HOUR);
    const after = await rig.work();
    assert.deepEqual(contentOf(after.tree), content);
    await after.close();
  });

  it("runs no program in a folder that was a submodule of the base, and keeps its files", async () => {
    await using rig = await Rig.open();
    const { sample } = rig;
    sample.run("update-index", "--add", "--cacheinfo", `160000,${rig.revision},sub`);
    sample.run("commit", "--quiet", "-m", "A submodule");
    const revision = sample.run("rev-parse", "HEAD");
    sample.run("push", "--quiet", "origin", "HEAD:main");
    await rig.repository.need({ url: sample.url, branch: "main", revision }, NO_CREDENTIALS);
    const { repository } = rig;
    const branch = `agent/${SESSION}`;
    const workspace = await rig.workspaces.open({
      ...{ session: SESSION, repository, revision, branch, owner: undefined },
    });
    // An earlier turn has removed the submodule.
    await workspace.git.run(["update-index", "--force-remove", "sub"]);
    const nested = join(workspace.tree, "sub");
    const ran = join(sample.folder, "ran");
    execFileSync("git", ["init", "--quiet", nested]);
    writeFileSync(join(nested, "a.x"), "mine");
    execFileSync("git", ["-C", nested, "add", "."]);
    const author = ["-c", "user.name=x", "-c", "user.email=x@example.com"];
    execFileSync("git", ["-C", nested, ...author, "commit", "--quiet", "-m", "x"]);
    writeFileSync(join(nested, ".gitattributes"), "*.x filter=evil\n");
    execFileSync("git", ["-C", nested, "config", "filter.evil.clean", `touch ${ran}; cat`]);
    writeFileSync(join(nested, "a.x"), "changed");
    const modules = '[submodule "sub"]\n\tpath = sub\n\turl = x\n\tignore = none\n';
    writeFileSync(join(workspace.tree, ".gitmodules"), modules);
    await workspace.close();
    await rig.hibernate(2 * HOUR);
    assert.equal(existsSync(ran), false, "a filter of the submodule ran");
    assert.equal(readFileSync(join(nested, "a.x"), "utf8"), "changed");
  });

  it("keeps a tree with files that git cannot store", async () => {
    await using rig = await Rig.open();
    const workspace = await rig.work();
    const nested = join(workspace.tree, "nested");
    execFileSync("git", ["init", "--quiet", nested]);
    writeFileSync(join(nested, "work.md"), "mine");
    await workspace.close();
    await rig.hibernate(HOUR);
    assert.deepEqual(rig.failures, []);
    assert.equal(readFileSync(join(nested, "work.md"), "utf8"), "mine");
  });

  it("does not touch an open workspace", async () => {
    await using rig = await Rig.open();
    const workspace = await rig.work();
    await rig.hibernate(HOUR);
    assert.ok(!rig.away);
    await workspace.close();
  });

  it("loses nothing when the program is killed at any moment", async () => {
    await using rig = await Rig.open();
    const workspace = await rig.work();
    change(workspace.tree);
    const content = contentOf(workspace.tree);
    await workspace.close();
    let wasKilled = 0;
    for (let delay = 0; delay < 8; delay++) {
      const then = new Date(Date.now() - HOUR);
      utimesSync(join(rig.folder, SESSION, "workspace.json"), then, then);
      wasKilled += await hibernateAndKill(rig, delay * 15);
      const after = await rig.work();
      assert.deepEqual(contentOf(after.tree), content, `killed after ${delay * 15} ms`);
      await after.close();
    }
    assert.ok(wasKilled > 0, "no process was killed in time");
  });
});

const MODULE = (name: string): string =>
  JSON.stringify(new URL(`${name}.ts`, import.meta.url).href);

/** Lets another process hibernate the workspace, and kills it. Resolves to 1 if it had not finished by then. */
async function hibernateAndKill(rig: Rig, milliseconds: number): Promise<number> {
  const script = `
    const { Workspaces } = await import(${MODULE("workspace")});
    const { WorkspaceBases } = await import(${MODULE("bases")});
    const { CopyDriver } = await import(${MODULE("copy")});
    const { RepositoryCache } = await import(${MODULE("../repository-cache")});
    const common = { askpass: "/bin/false", protocols: ["file"] };
    const bases = new WorkspaceBases({ folder: ${JSON.stringify(rig.bases)}, most: 1 });
    const folder = ${JSON.stringify(join(rig.sample.folder, "cache"))};
    const cache = new RepositoryCache({ folder, report: () => {}, ...common });
    const driver = new CopyDriver("copy");
    const all = new Workspaces({ folder: ${JSON.stringify(rig.folder)}, bases, driver, ...common });
    console.log("ready");
    await all.hibernate({
      after: 1,
      repositoryOf: (key) => cache.byKey(key),
      signal: new AbortController().signal,
      failed: (_, error) => console.error(error),
    });
    console.log("done");`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script]);
  const exited = once(child, "exit");
  let said = "";
  child.stdout.on("data", (text: Buffer) => (said += text.toString()));
  while (!said.includes("ready")) await pause(1);
  await pause(milliseconds);
  child.kill("SIGKILL");
  await exited;
  return said.includes("done") ? 0 : 1;
}

describe("an idle session with overlayfs", { skip: DRIVERS[1]?.[2] }, () => {
  it("takes less than 5 MB of disk, however large its repository is", async () => {
    await using rig = await Rig.open(new OverlayDriver());
    // A copy would be larger than the session may be.
    for (let at = 0; at < 6; at++) rig.sample.write(`asset-${at}.bin`, randomBytes(1 << 20));
    const based = rig.sample.commit("Large files");
    rig.sample.write("README.md", "next\n");
    const revision = rig.sample.commit("Next");
    rig.sample.run("push", "--quiet", "origin", "HEAD:main");
    await rig.repository.need({ url: rig.sample.url, branch: "main", revision }, NO_CREDENTIALS);
    const { repository } = rig;
    const owner = { uid: 61_234, gid: 61_234 };
    const request = { session: SESSION, repository, branch: "agent/x", owner };
    // The base is of another revision, which git updates.
    const other = { ...request, session: "other", revision: based };
    await (await rig.workspaces.open(other)).close();
    const workspace = await rig.workspaces.open({ ...request, revision });
    assert.equal(readFileSync(join(workspace.tree, "README.md"), "utf8"), "next\n");
    assert.equal(lstatSync(join(workspace.tree, "README.md")).uid, owner.uid);
    change(workspace.tree);
    await workspace.close();
    const used = await diskUse(join(rig.folder, SESSION));
    assert.ok(used < 5_000_000, `${used} bytes`);
    await rig.hibernate(HOUR);
    const away = await diskUse(join(rig.folder, SESSION));
    assert.ok(away < 300_000, `${away} bytes`);
  });
});

import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";

import { RunAgentRig } from "../../../test/samples/run-agent-rig.ts";
import { git } from "../../../test/samples/sample-runs.ts";
import { writeRemote } from "../../../test/support/stored-folder.ts";
import { OWNER } from "../../base/principal.ts";
import type { Turn } from "../../session/agent.ts";
import type { SharedCheckpoints } from "../workspace/shared-checkpoints.ts";
import { fromAddress } from "./content.ts";

const POLICY = { allowHosts: [], allowPrivate: true, protocols: ["file"] };
const TURN = {
  prompt: [{ type: "text", text: "Work" }],
  principal: OWNER,
  signal: new AbortController().signal,
} as unknown as Turn;
const LIBRARY = "libraries/lib";

/** Runs on a repository with the submodule `libraries/lib`, in which there is `deep/inner`. */
async function withSubmodules(submodules = ["file:///*"], { maxLfs = 0 } = {}) {
  const rig = await RunAgentRig.open({ policy: { ...POLICY, submodules, maxLfs } });
  const tree = join(rig.folder, "tree");
  const [inner, library] = ["inner", "library"].map((name) => {
    const folder = join(rig.folder, name);
    mkdirSync(folder);
    return { url: pathToFileURL(join(folder, "remote.git")).href, revision: writeRemote(folder) };
  });
  const libraryTree = join(rig.folder, "library/tree");
  for (const each of maxLfs > 0 ? [tree, libraryTree] : []) {
    writeFileSync(join(each, ".gitattributes"), "*.bin filter=lfs\n");
    git(each, "add", ".gitattributes");
    const oid = (each === tree ? "a" : "b").repeat(64);
    const head = "version https://git-lfs.github.com/spec/v1";
    writeFileSync(join(each, "a.bin"), `${head}\noid sha256:${oid}\nsize 60\n`);
  }
  link(libraryTree, "deep/inner", inner!.url, inner!.revision);
  writeFileSync(join(libraryTree, "lib.c"), "int lib;\n");
  writeFileSync(join(libraryTree, ".gitignore"), "*.o\n");
  const libraryRevision = commit(libraryTree);
  link(tree, LIBRARY, library!.url, libraryRevision);
  const revision = commit(tree);
  const plan = rig.runs.plan({ remote: { url: `file://${rig.remote}`, branch: "main", revision } });
  return { rig, plan, revision, tree, said: () => JSON.stringify(rig.updates) };
}

function link(tree: string, path: string, url: string, revision: string): void {
  writeFileSync(join(tree, ".gitmodules"), `[submodule "x"]\n\tpath = ${path}\n\turl = ${url}\n`);
  git(tree, "add", ".gitmodules");
  git(tree, "update-index", "--add", "--cacheinfo", `160000,${revision},${path}`);
}

function commit(tree: string): string {
  for (const name of readdirSync(tree)) {
    if (!name.startsWith(".git") && name !== "libraries") git(tree, "add", name);
  }
  if (existsSync(join(tree, ".gitignore"))) git(tree, "add", ".gitignore");
  git(tree, "commit", "--quiet", "-m", "Change");
  git(tree, "push", "--quiet", "origin", "HEAD:main");
  return git(tree, "rev-parse", "HEAD");
}

describe("submodules of a run", () => {
  it("are there at any depth, each as a repository of its own, and stay as they are in what is pushed", async () => {
    const { rig, plan, revision } = await withSubmodules();
    await using _ = rig;
    const statuses: string[] = [];
    await using session = await rig.session(async (cwd) => {
      const library = join(cwd, LIBRARY);
      assert.equal(readFileSync(join(library, "lib.c"), "utf8"), "int lib;\n");
      assert.equal(readFileSync(join(library, "deep/inner/README.md"), "utf8"), "hello\n");
      for (const folder of [cwd, library, join(library, "deep/inner")]) {
        statuses.push(git(folder, "-c", "safe.directory=*", "status", "--porcelain"));
      }
      assert.match(git(library, "log", "--format=%s"), /^Change/);
      writeFileSync(join(library, "lib.o"), "ignored there");
      writeFileSync(join(cwd, "new.txt"), "new\n");
    }, plan);
    for (const text of ["Add", "Look"]) await session.prompt(rig.turn(text));
    assert.deepEqual(statuses.slice(0, 3), ["", "", ""]);
    const { branch } = (session.settings._meta as { target: { branch: string } }).target;
    const changed = git(rig.remote, "diff", "--raw", "--no-renames", revision, branch);
    assert.match(changed, /^\S+ \S+ \S+ \S+ A\tnew\.txt$/);
  });

  it("refuses changes in them in words, and pushes when they are undone", async () => {
    const { rig, plan } = await withSubmodules();
    await using _ = rig;
    const works = [
      (cwd: string) => {
        writeFileSync(join(cwd, LIBRARY, "lib.c"), "int mine;\n");
        writeFileSync(join(cwd, LIBRARY, "deep/inner/new"), "x");
        writeFileSync(join(cwd, "new.txt"), "new\n");
      },
      (cwd: string) => {
        git(join(cwd, LIBRARY), "checkout", "--quiet", "--", "lib.c");
        rmSync(join(cwd, LIBRARY, "deep/inner/new"));
      },
    ];
    await using session = await rig.session(async (cwd) => works.shift()?.(cwd), plan);
    const refused = await session.prompt(rig.turn("Change"));
    assert.deepEqual(refused._meta, { trunkline: { run: "refused" } });
    const said = JSON.stringify(rig.updates);
    assert.match(said, /'libraries\/lib\/\S+': it and 1 more changed files are in the submodule/);
    assert.match(said, /undo them with `git -C libraries\/lib checkout \.`/);
    const pushed = await session.prompt(rig.turn("Undo"));
    const { trunkline } = pushed._meta as { trunkline: { run: string } };
    assert.equal(trunkline.run, "pushed");
  });

  it("may be removed as a whole, or be replaced by a link, through which nothing is read", async () => {
    const { rig, plan, revision, said } = await withSubmodules();
    await using _ = rig;
    await using session = await rig.session(async (cwd) => {
      rmSync(join(cwd, "libraries"), { recursive: true });
      rmSync(join(cwd, ".gitmodules"));
      symlinkSync(rig.folder, join(cwd, "libraries"));
    }, plan);
    const end = await session.prompt(rig.turn("Link"));
    assert.deepEqual(end._meta, { trunkline: { run: "refused" } });
    assert.match(said(), /'libraries': it is a link to/);
    assert.doesNotMatch(said(), /libraries\/(?:remote\.git|tree)/);
    await using other = await rig.session(
      async (cwd) => {
        rmSync(join(cwd, "libraries"), { recursive: true });
        rmSync(join(cwd, ".gitmodules"));
      },
      rig.runs.plan({ remote: { url: `file://${rig.remote}`, branch: "main", revision } }),
    );
    await other.prompt(rig.turn("Remove"));
    const { branch } = (other.settings._meta as { target: { branch: string } }).target;
    assert.equal(git(rig.remote, "ls-tree", "-r", "--name-only", branch), "README.md");
  });

  it("are not fetched from where only the server may read, and files in their folder are refused", async () => {
    const { rig, plan } = await withSubmodules([]);
    await using _ = rig;
    await using session = await rig.session(async (cwd) => {
      assert.deepEqual(readdirSync(join(cwd, LIBRARY)), []);
      writeFileSync(join(cwd, LIBRARY, "new"), "x");
    }, plan);
    const end = await session.prompt(rig.turn("Change"));
    assert.deepEqual(end._meta, { trunkline: { run: "refused" } });
    const said = JSON.stringify(rig.updates);
    assert.match(said, /'libraries\/lib' is not there: .* `remote\.submodules` allows that/);
    assert.match(said, /the folder of a submodule that could not be fetched/);
  });

  it("are there on the machine that continues a run, without those that the run has removed", async () => {
    const { rig, plan } = await withSubmodules();
    await using _ = rig;
    let packed: Buffer | undefined;
    const carried: SharedCheckpoints = {
      save: async (_run, bytes) => void (packed = bytes),
      load: async () => packed,
      remove: async () => {},
    };
    const options = { policy: { ...POLICY, submodules: ["file:///*"] }, carried };
    const machines = await Promise.all(
      ["one", "two", "three"].map((name) => rig.another(options, name)),
    );
    const prepared = async (machine: number) => {
      const run = await machines[machine]!.open(plan, "s1");
      return { run, tree: (await run.prepare(() => {})).tree };
    };
    const first = await prepared(0);
    writeFileSync(join(first.tree, "new.txt"), "new\n");
    await first.run.checkpoint();
    const second = await prepared(1);
    const library = join(second.tree, LIBRARY);
    assert.equal(git(second.tree, "status", "--short"), "?? new.txt");
    assert.equal(readFileSync(join(library, "deep/inner/README.md"), "utf8"), "hello\n");
    assert.equal(git(library, "status", "--short"), "");
    writeFileSync(join(library, "mine"), "x");
    assert.equal((await second.run.deliver(TURN)).kind, "refused");
    rmSync(library, { recursive: true });
    rmSync(join(second.tree, ".gitmodules"));
    assert.equal((await second.run.deliver(TURN)).kind, "pushed");
    const third = await prepared(2);
    assert.ok(!existsSync(join(third.tree, LIBRARY)));
    assert.equal((await third.run.deliver(TURN)).kind, "unchanged");
    for (const { run } of [first, second, third]) await run.close();
    for (const machine of machines) await machine[Symbol.asyncDispose]();
  });

  it("have no more files of Git LFS than the repository itself may: all count together", async () => {
    const { rig, plan, said } = await withSubmodules(undefined, { maxLfs: 100 });
    await using _ = rig;
    await using session = await rig.session(async () => {}, plan);
    await session.prompt(rig.turn("Look"));
    assert.match(said(), /2 files of Git LFS take 120 bytes\. `remote\.maxLfs` allows 100/);
  });

  it("are not fetched for a token that may not use them", async () => {
    const { rig, plan, said } = await withSubmodules();
    await using _ = rig;
    const within = [`file://${rig.remote}`];
    await using session = await rig.session(
      async (cwd) => {
        assert.deepEqual(readdirSync(join(cwd, LIBRARY)), []);
      },
      { ...plan!, within },
    );
    await session.prompt(rig.turn("Look"));
    assert.match(said(), /not among the repositories of the token/);
  });
});

describe("fromAddress()", () => {
  it("resolves addresses as git does", () => {
    const [web, ssh] = ["https://git.example/acme/app.git", "git@git.example:acme/app.git"];
    assert.equal(fromAddress(web, "../lib.git"), "https://git.example/acme/lib.git");
    assert.equal(fromAddress(web, "../../other/lib"), "https://git.example/other/lib");
    assert.equal(fromAddress(ssh, "../lib"), "git@git.example:acme/lib");
    assert.equal(fromAddress(ssh, "../../lib"), "git@git.example:lib");
    assert.equal(fromAddress(web, "./nested"), `${web}/nested`);
    assert.equal(fromAddress(web, "https://other.example/x"), "https://other.example/x");
  });
});

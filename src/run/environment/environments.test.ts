import assert from "node:assert/strict";
import {
  existsSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { EnvironmentRig } from "../../../test/support/environment-rig.ts";
import { noOverlay } from "../../../test/support/no-overlay.ts";
import { CopyDriver } from "../workspace/copy.ts";
import type { WorkspaceDriver } from "../workspace/driver.ts";
import { OverlayDriver } from "../workspace/overlay.ts";

const DRIVERS: [string, () => WorkspaceDriver, string | false][] = [
  ["copy", () => new CopyDriver("copy"), false],
  ["overlay", () => new OverlayDriver(), noOverlay],
];

for (const [name, driver, skip] of DRIVERS) {
  describe(`an environment, with the driver '${name}'`, { skip }, () => {
    it("is part of a workspace, and git does not see it", async () => {
      await using rig = new EnvironmentRig(driver());
      mkdirSync(join(rig.sample.tree, "packages/a"), { recursive: true });
      rig.sample.write("packages/a/index.js", "1");
      const revision = await rig.commit();
      const command =
        "mkdir -p deps/x packages/a/deps; echo 1 > deps/x/y; ln -s ../../../index.js packages/a/deps/z; echo 1 > ~/.tool";
      const layer = await rig.prepare(rig.environments({ command }), revision);
      const { tree, git, home = "" } = await rig.open("session0001", revision, layer);
      assert.equal(readFileSync(join(tree, "deps/x/y"), "utf8"), "1\n");
      writeFileSync(join(home, ".tool"), "changed");
      assert.equal(readFileSync(join(layer?.home ?? "", ".tool"), "utf8"), "1\n");
      assert.deepEqual(readdirSync(join(tree, "packages/a")).toSorted(), ["deps", "index.js"]);
      assert.equal(await git.text(["status", "--porcelain"]), "");
      assert.deepEqual(readdirSync(join(rig.sample.folder, "work")), ["session0001"]);
    });

    it("is not changed by a session, and is there when the session is opened again", async () => {
      await using rig = new EnvironmentRig(driver());
      const revision = await rig.commit();
      const environments = rig.environments({ command: "mkdir deps; echo 1 > deps/one" });
      const layer = await rig.prepare(environments, revision);
      const first = await rig.open("session0001", revision, layer);
      writeFileSync(join(first.tree, "deps/one"), "changed");
      const second = await rig.open("session0002", revision, layer);
      assert.equal(readFileSync(join(second.tree, "deps/one"), "utf8"), "1\n");
      await first.close();
      const other = rig.environments({ command: "exit 1" });
      const had = await rig.prepare(other, revision, { workspace: "session0001" });
      assert.equal(had?.id, layer?.id);
      const again = await rig.open("session0001", revision, had);
      assert.equal(readFileSync(join(again.tree, "deps/one"), "utf8"), "changed");
      // A workspace that began without a layer stays without: its files may conflict with the layer.
      await rig.open("session0003", revision, undefined);
      assert.equal(
        await rig.prepare(environments, revision, { workspace: "session0003" }),
        undefined,
      );
    });

    it("leaves out files that git does not ignore, and says so", async () => {
      await using rig = new EnvironmentRig(driver());
      const revision = await rig.commit();
      const command = "rm README.md; echo 2 > package-lock.json; echo 1 > new; echo 1 > kept.log";
      const layer = await rig.prepare(rig.environments({ command }), revision);
      assert.deepEqual(layer?.roots, ["kept.log"]);
      const { tree, git } = await rig.open("session0001", revision, layer);
      assert.equal(await git.text(["status", "--porcelain"]), "");
      assert.ok(existsSync(join(tree, "kept.log")));
      assert.match(rig.said, /were undone: 'README\.md', 'package-lock\.json', 'new'\./);
    });
  });
}

describe("Environments", () => {
  it("are made once for concurrent requests", async () => {
    await using rig = new EnvironmentRig();
    const revision = await rig.commit();
    const count = join(rig.sample.folder, "count");
    const environments = rig.environments({
      command: `echo x >> ${count}; mkdir deps; sleep 0.5; echo 1 > deps/one`,
    });
    const layers = await Promise.all([1, 2, 3].map(() => rig.prepare(environments, revision)));
    assert.equal(new Set(layers.map((layer) => layer?.id)).size, 1);
    assert.equal(readFileSync(count, "utf8"), "x\n");
    assert.match(rig.said, /Waiting for another session/);
  });

  it("are used for a later revision with the same lock files, and for no other", async () => {
    await using rig = new EnvironmentRig();
    const environments = rig.environments({
      command: "mkdir deps; cat package-lock.json > deps/v",
    });
    const first = await rig.commit();
    const layer = await rig.prepare(environments, first);
    rig.sample.write("README.md", "later");
    const second = await rig.commit();
    assert.equal((await rig.prepare(environments, second))?.id, layer?.id);
    rig.sample.write("package-lock.json", "2");
    const third = await rig.commit();
    const other = await rig.prepare(environments, third);
    assert.notEqual(other?.id, layer?.id);
    assert.equal(readFileSync(join(other?.tree ?? "", "deps/v"), "utf8"), "2");
    rig.sample.write(".gitignore", "deps\n");
    const fourth = await rig.commit();
    assert.equal((await rig.prepare(environments, fourth))?.revision, fourth);
  });

  it("are not used for a revision that does not descend from theirs", async () => {
    await using rig = new EnvironmentRig();
    const base = await rig.commit();
    rig.sample.write("index.js", "hostile");
    const aside = await rig.commit();
    const environments = rig.environments({ command: "mkdir deps; cp index.js deps/ || :" });
    await rig.prepare(environments, aside);
    const layer = await rig.prepare(environments, base);
    assert.equal(layer?.revision, base);
    assert.equal(existsSync(join(layer?.tree ?? "", "deps/index.js")), false);
  });

  it("are not used where they would hide a file of a later revision", async () => {
    await using rig = new EnvironmentRig();
    const environments = rig.environments({ command: "mkdir deps; echo made > deps/one" });
    await rig.prepare(environments, await rig.commit());
    mkdirSync(join(rig.sample.tree, "deps"));
    rig.sample.write("deps/one", "tracked");
    rig.sample.run("add", "--force", "deps/one");
    const later = await rig.commit();
    const layer = await rig.prepare(environments, later);
    assert.equal(layer?.revision, later);
    const { tree, git } = await rig.open("session0001", later, layer);
    assert.equal(readFileSync(join(tree, "deps/one"), "utf8"), "tracked");
    assert.equal(await git.text(["status", "--porcelain"]), "");
  });

  it("do not use a .gitignore that set-up has changed", async () => {
    await using rig = new EnvironmentRig();
    mkdirSync(join(rig.sample.tree, "src"));
    rig.sample.write("src/index.js", "1");
    const revision = await rig.commit();
    const command =
      "echo '/a' >> .gitignore; echo 1 > a; echo '/b' > src/.gitignore; echo 1 > src/b; mkdir venv; echo '*' > venv/.gitignore; echo 1 > venv/c";
    const layer = await rig.prepare(rig.environments({ command }), revision);
    assert.deepEqual(layer?.roots, ["venv"]);
    assert.match(rig.said, /were undone: '\.gitignore', 'src\/\.gitignore', 'src\/b'/);
    const { git } = await rig.open("session0001", revision, layer);
    assert.equal(await git.text(["status", "--porcelain"]), "");
  });

  it("contain the files that `keep` names, which are never committed", async () => {
    await using rig = new EnvironmentRig();
    const revision = await rig.commit();
    const setup = { command: "mkdir venv; echo 1 > venv/one", keep: ["/venv/"] };
    const layer = await rig.prepare(rig.environments(setup), revision);
    const { tree, git } = await rig.open("session0001", revision, layer);
    assert.ok(existsSync(join(tree, "venv/one")));
    assert.equal(await git.text(["status", "--porcelain"]), "");
    const own = join(tree, ".git/info/exclude");
    assert.equal(readFileSync(own, "utf8"), "/venv/\n");
  });

  it("give secrets to set-up, and contain no file with a secret", async () => {
    await using rig = new EnvironmentRig();
    const revision = await rig.commit();
    const line = 'echo "//registry/:_authToken=$NPM_TOKEN"';
    const setup = {
      command: `mkdir deps; ${line} | tee deps/.npmrc ~/.npmrc; echo 1 > deps/one`,
      secrets: ["NPM_TOKEN"],
    };
    const layer = await rig.prepare(
      rig.environments(setup, { NPM_TOKEN: "tok-0123456789" }),
      revision,
    );
    assert.deepEqual(readdirSync(join(layer?.tree ?? "", "deps")), ["one"]);
    assert.equal(layer?.home === undefined || existsSync(join(layer.home, ".npmrc")), false);
    assert.match(rig.said, /'deps\/\.npmrc' contains the secret NPM_TOKEN/);
    assert.match(rig.said, /'~\/\.npmrc' contains the secret NPM_TOKEN/);
    const name = { key: layer?.id.slice(0, 32) ?? "", revision };
    const log = readFileSync(rig.layers.logOf(rig.cached, name), "utf8");
    assert.match(log, /_authToken=•••/);
    assert.equal(rig.said.includes("tok-0123456789"), false);
  });

  it("are refused when they are too large, and nothing of them stays", async () => {
    await using rig = new EnvironmentRig();
    const revision = await rig.commit();
    const command = "mkdir deps; head -c 2000000 /dev/urandom > deps/large";
    assert.equal(await rig.prepare(rig.environments({ command }), revision), undefined);
    const says =
      /could not be set up .*: its result takes \d+ MiB, and 1 MiB are allowed\. Install/;
    assert.match(rig.told.join("\n"), says);
    assert.deepEqual(readdirSync(join(rig.sample.folder, "work")), []);
  });

  it("report a failure with the end of its log, leave nothing behind, and retry later", async () => {
    await using rig = new EnvironmentRig();
    const revision = await rig.commit();
    const marker = join(rig.sample.folder, "works-now");
    const command = `mkdir deps; for i in $(seq 30); do echo "line $i"; done; [ -e ${marker} ]`;
    const environments = rig.environments({ command });
    assert.equal(await rig.prepare(environments, revision), undefined);
    assert.match(rig.said, /could not be set up \(.*ended with 1/);
    assert.match(
      rig.said,
      /Its last lines:\nline 11\n[^]*line 30\nThis session continues without it/,
    );
    const [, id = ""] =
      /`trunkline run log` shows the whole log \(set-up (\S+)\)\.$/.exec(rig.said) ?? [];
    assert.ok(!rig.said.includes(rig.sample.folder), rig.said);
    const [log = ""] = globSync(join(rig.sample.folder, `layers/*/${id}.log`));
    assert.match(readFileSync(log, "utf8"), /^line 1\n/);
    assert.deepEqual(readdirSync(join(rig.sample.folder, "work")), []);
    writeFileSync(marker, "");
    rig.told.length = 0;
    const failed = log.replace(/log$/, "failed");
    const kept = readFileSync(failed, "utf8");
    assert.equal(await rig.prepare(environments, revision), undefined);
    assert.match(rig.said, /ended with 1 \(\d s ago\)\. .*retry after (?:30|29) s/);
    const later = JSON.stringify({ ...JSON.parse(kept), at: Date.now() - 31_000 });
    // A record that a crash has truncated does not prevent a retry, either.
    for (const text of [later, kept.slice(0, 5)]) {
      writeFileSync(failed, text);
      const layer = await rig.prepare(environments, revision);
      assert.deepEqual(layer?.roots, ["deps"]);
      rmSync(layer.tree, { recursive: true });
      rmSync(join(layer.tree, "../layer.json"));
    }
    writeFileSync(failed, kept);
    const layer = await rig.prepare(environments, revision, { retry: true });
    assert.deepEqual(layer?.roots, ["deps"]);
    assert.ok(!rig.kept.some((name) => name.endsWith(".failed")));
  });

  it("share a failure between concurrent requests", async () => {
    await using rig = new EnvironmentRig();
    const revision = await rig.commit();
    const count = join(rig.sample.folder, "count");
    const environments = rig.environments({ command: `echo x >> ${count}; sleep 0.3; exit 3` });
    const made = await Promise.all(
      [1, 2, 3].map(() => rig.prepare(environments, revision, { retry: true })),
    );
    assert.deepEqual(made, [undefined, undefined, undefined]);
    assert.equal(readFileSync(count, "utf8"), "x\n");
  });

  it("stop a set-up at its timeout, and when its session ends", async () => {
    await using rig = new EnvironmentRig();
    const revision = await rig.commit();
    const late = rig.environments({ command: "sleep 60 & sleep 60", timeout: 200 });
    assert.equal(await rig.prepare(late, revision), undefined);
    assert.match(rig.said, /it was stopped after its timeout of 0\.2 s/);
    const controller = new AbortController();
    const environments = rig.environments({ command: "sleep 60" });
    const preparing = rig.prepare(environments, revision, { signal: controller.signal });
    setTimeout(() => controller.abort(new Error("The session has ended.")), 300);
    await assert.rejects(preparing, /The session has ended/);
    assert.deepEqual(readdirSync(join(rig.sample.folder, "work")), []);
    assert.equal(rig.kept.filter((name) => name.endsWith(".failed")).length, 1);
  });

  it("run no set-up if the check before it fails", async () => {
    await using rig = new EnvironmentRig();
    const revision = await rig.commit();
    const ran = join(rig.sample.folder, "ran");
    const check = (): Promise<void> => Promise.reject(new Error("You may not push."));
    const environments = rig.environments({ command: `touch ${ran}` });
    await assert.rejects(rig.prepare(environments, revision, { check }), /You may not push/);
    assert.equal(existsSync(ran), false);
  });

  it("run the commands of a devcontainer, and report what is not used", async () => {
    await using rig = new EnvironmentRig();
    mkdirSync(join(rig.sample.tree, ".devcontainer"));
    const devcontainer = {
      image: "node",
      onCreateCommand: "mkdir deps",
      postCreateCommand: { a: ["touch", "deps/a"], b: "touch deps/b" },
    };
    rig.sample.write(".devcontainer/devcontainer.json", JSON.stringify(devcontainer));
    const layer = await rig.prepare(rig.environments({}), await rig.commit());
    assert.deepEqual(readdirSync(join(layer?.tree ?? "", "deps")).toSorted(), ["a", "b"]);
    assert.match(rig.said, /image not used: agents use the programs of the server/);
  });

  it("prune the least recently used layers, and none that is in use", async () => {
    await using rig = new EnvironmentRig(new CopyDriver("copy"), 1);
    const revision = await rig.commit();
    const make = (number: number) =>
      rig.prepare(rig.environments({ command: `mkdir deps; echo ${number} > deps/n` }), revision);
    const used = await make(1);
    await rig.open("session0001", revision, used);
    const [second, third] = [await make(2), await make(3)];
    writeFileSync(join(rig.sample.folder, "layers", rig.cached.key, `${second?.id}.new`), "");
    await (await rig.open("session0002", revision, third)).close();
    const kept = rig.kept.filter((name) => /^[0-9a-f-]+$/.test(name));
    assert.deepEqual(kept.toSorted(), [used?.id ?? "", third?.id ?? ""].toSorted());
    assert.ok(!rig.kept.some((name) => name.startsWith(second?.id ?? "-")));
  });
});

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

const work = {
  provider: "github",
  user: "ada",
  email: "ada@acme.test",
  displayName: "Ada",
  sshHost: "gh-work",
  sshKey: "~/.ssh/id_work",
};

const setUp = (): Promise<SampleCommandLine> => SampleCommandLine.create({ identities: { work } });

/** The configuration of the repository. */
const configOf = ({ home }: SampleCommandLine): string =>
  readFileSync(join(home.project, ".git/config"), "utf8");

describe("trunkline identity switch", () => {
  it("prints the changes with --dry-run, and makes none", async () => {
    await using line = await setUp();
    const before = configOf(line);
    const { code, out } = await line.run("identity", "switch", "work", "--dry-run");
    assert.equal(code, 0);
    assert.match(out, /\.git\/config\n(?: {2}.*\n)* {2}\+ user\.email = ada@acme\.test\n/);
    assert.equal(configOf(line), before);
  });

  it("makes the changes and reports them, and says so if there are none", async () => {
    await using line = await setUp();
    const { out } = await line.run("identity", "switch", "work");
    assert.match(out, /^Switched to identity: work\n/);
    assert.equal(line.git("config", "--local", "--get", "user.email"), "ada@acme.test");
    const again = await line.run("identity", "switch", "work");
    assert.match(again.out, /^Already switched to work\.\n/);
  });

  it("writes no credential helper to ~/.gitconfig, where it would answer for all repositories", async () => {
    await using line = await setUp();
    assert.equal((await line.run("identity", "switch", "work", "--global")).code, 0);
    const gitconfig = readFileSync(join(line.home.path, ".gitconfig"), "utf8");
    assert.match(gitconfig, /ada@acme\.test/);
    assert.doesNotMatch(gitconfig, /credential/);
  });

  it("prints the changes and the id for undo as JSON", async () => {
    await using line = await setUp();
    type Switched = { id: string; kind: string; files: { path: string; becomes: string }[] };
    const { id, files } = await line.json<Switched>("identity", "switch", "work");
    assert.ok(files.some(({ path, becomes }) => path.endsWith("config") && becomes === "changed"));
    const before = configOf(line);
    assert.equal((await line.run("identity", "undo", "--id", id)).code, 0);
    assert.notEqual(configOf(line), before);
  });
});

describe("trunkline identity undo", () => {
  it("restores the files byte for byte, once", async () => {
    await using line = await setUp();
    const before = configOf(line);
    await line.run("identity", "switch", "work");
    assert.match((await line.run("identity", "undo")).out, /^Undone\.\n/);
    assert.equal(configOf(line), before);
    assert.equal((await line.run("identity", "undo")).code, 1);
  });

  it("keeps what was written since, and names a changed setting that --force restores", async () => {
    await using line = await setUp();
    await line.run("identity", "switch", "work");
    line.git("config", "alias.mine", "log");
    line.git("config", "user.email", "me@own.example");
    const planned = await line.run("identity", "undo", "--dry-run", "--force");
    assert.match(planned.out, /- user\.email = ada/);
    const { code, err } = await line.run("identity", "undo");
    assert.equal(code, 0);
    assert.match(err, /Not undone, .*user\.email.*--force/);
    assert.match(configOf(line), /mine = log/);
    assert.doesNotMatch(configOf(line), /trunkline/);
  });
});

describe("trunkline identity sync", () => {
  it("adds its block to the existing files, and removes it again", async () => {
    await using line = await setUp();
    const file = join(line.home.path, ".ssh/config");
    await line.home.write(file, "Host other\n  User ada\n");
    assert.equal((await line.run("identity", "sync")).code, 0);
    assert.match(readFileSync(file, "utf8"), /Host gh-work[\s\S]*Host other/);
    const again = await line.run("identity", "sync");
    assert.match(again.out, /^Nothing to change\.\n/);
    assert.match((await line.run("identity", "sync", "--remove")).out, /^Removed the blocks\.\n/);
    assert.equal(readFileSync(file, "utf8"), "Host other\n  User ada\n");
  });

  it("creates nothing with --dry-run", async () => {
    await using line = await setUp();
    const { out } = await line.run("identity", "sync", "--dry-run");
    assert.match(out, /\.ssh\/config \(new\)\n/);
    assert.equal(existsSync(join(line.home.path, ".ssh")), false);
  });
});

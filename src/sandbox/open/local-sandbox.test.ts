import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { mkdir, readFile, symlink } from "node:fs/promises";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { spawnWrapped } from "../../../test/support/spawn-wrapped.ts";
import type { Program } from "../bubblewrap.ts";
import { systemProgram } from "../remedy.ts";
import { AppContext } from "../../config/app-context.ts";
import { defaultConfig } from "../../config/config.ts";
import { agentIdentity } from "../../identity/open/open-identities.ts";
import { openLocalSandbox, sandboxPrograms } from "./local-sandbox.ts";

type Programs = ReturnType<typeof sandboxPrograms>;

const isMissing = ["bwrap", "nsenter"].some((name) => systemProgram(name) === undefined);
const skip = isMissing && "It needs bubblewrap and nsenter: install bubblewrap and util-linux.";

const SCRIPT = `cat mine.jsonc token.key
for file in mine.jsonc token.key; do echo {} > $file; rm $file; mv other $file; done
echo evil > cache/trunkline/code; mv cache moved; rm -r cache
touch other && echo done`;

describe("LocalSandbox", { skip, timeout: 60_000 }, () => {
  it("hides the user's configuration, its key and compiled code, also in the session's folder", async () => {
    await using home = await SampleHome.create();
    const { project } = home;
    const file = join(project, "mine.jsonc");
    const written = '{ "agent": { "sandbox": "on" } } // s3cret';
    await home.write(file, written);
    await home.write(join(project, "token.key"), "s3cret");
    const cache = join(project, "cache");
    await home.write(join(cache, "trunkline/code"), "ours");
    for (const named of [{ flags: { config: file } }, { env: { TRUNKLINE_CONFIG: file } }]) {
      const { config, files } = await home.load(named);
      const paths = files.map(({ path }) => path);
      const app = new AppContext(config, { files: paths, load: async () => config });
      const env = { PATH: process.env.PATH, HOME: home.path, XDG_CACHE_HOME: cache, ...named.env };
      await using sandbox = openLocalSandbox(app, [project], env);
      await using inside = await sandbox.enter(async () => false);
      const shell = { command: "/bin/sh", args: ["-c", SCRIPT], env, cwd: project };
      const child = spawnWrapped(inside.confine(shell) as Program);
      assert.ok(child.stdout !== null);
      assert.equal(await text(child.stdout), "done\n");
      assert.equal(await readFile(file, "utf8"), written);
      assert.equal(await readFile(join(project, "token.key"), "utf8"), "s3cret");
      assert.equal(await readFile(join(cache, "trunkline/code"), "utf8"), "ours");
    }
  });
});

describe("a commit in LocalSandbox", { skip, timeout: 60_000 }, () => {
  it("has the lines that a rule adds to the agent's commits, and cannot change them", async () => {
    await using home = await SampleHome.create();
    const { project } = home;
    const git = (...args: string[]): string =>
      execFileSync("git", args, { cwd: project, encoding: "utf8" }).trim();
    git("init", "--quiet");
    const bot = { provider: "github", user: "bot", email: "bot@acme.test" } as const;
    const trailers = ["Assisted-by: {agent}", "Trunkline-Session: {session}"];
    const agentCommits = [{ agent: "*", identity: "bot", trailers }];
    const file = join(home.path, "config.jsonc");
    await home.write(file, JSON.stringify({ identities: { bot }, agentCommits }));
    const { config } = await home.load({ flags: { config: file } });
    const env = { PATH: process.env.PATH, HOME: home.path };
    const app = new AppContext(config, { files: [file], load: async () => config });
    const acts = await agentIdentity(app, { agent: "helper" }, env)(project, "s1");
    await using sandbox = openLocalSandbox(app, [project], env);
    await using inside = await sandbox.enter(async () => false);
    const script = `git commit --quiet --allow-empty -m One && cd "$(git config core.hooksPath)" &&
      ls commit-msg; rm commit-msg; echo evil > commit-msg; echo over`;
    const program = { command: "/bin/sh", args: ["-c", script], cwd: project };
    const child = spawnWrapped(
      inside.confine({ ...program, env: acts?.environment(env) ?? {} }) as Program,
    );
    assert.ok(child.stdout !== null);
    assert.equal(await text(child.stdout), "commit-msg\nover\n");
    await inside[Symbol.asyncDispose]();
    assert.equal(
      git("log", "--format=%ae %B"),
      "bot@acme.test One\n\nAssisted-by: helper\nTrunkline-Session: s1",
    );
    const [folder = ""] = readdirSync(join(home.data, "identity/hooks"));
    const hook = readFileSync(join(home.data, "identity/hooks", folder, "commit-msg"), "utf8");
    assert.match(hook, /interpret-trailers/);
  });
});

describe("a local session", { skip, timeout: 60_000 }, () => {
  const broken = (): Programs => ({ bwrap: "/bin/false", nsenter: "/bin/false" });

  async function open(sandbox: "auto" | "on", programs?: () => Programs) {
    const home = await SampleHome.create();
    const base = defaultConfig(home.data);
    const env = { PATH: process.env.PATH, HOME: home.path };
    const at = (folder: string, wanted = sandbox, with_ = programs) => {
      const app = new AppContext({ ...base, agent: { ...base.agent, sandbox: wanted } });
      return openLocalSandbox(app, [folder], env, with_);
    };
    return { home, at, [Symbol.asyncDispose]: () => home[Symbol.asyncDispose]() };
  }

  it("goes without a sandbox only where the machine has none, and never had one", async () => {
    await using rig = await open("auto", broken);
    const { project } = rig.home;
    assert.equal(await rig.at(project).isThere(), false);
    await assert.rejects(
      rig.at(project).enter(async () => false),
      /no sandbox/,
    );
    await assert.rejects(rig.at(project, "on").isThere(), /There is no sandbox for commands/);
    {
      await using works = rig.at(project, "auto", sandboxPrograms);
      assert.equal(await works.isThere(), true);
    }
    await assert.rejects(rig.at(project).isThere(), /no sandbox .*`agent.sandbox` to `off`/);
  });

  it("does not go without because of the project, nor inside of what says to be a sandbox", async () => {
    await using rig = await open("auto");
    await assert.rejects(rig.at(rig.home.path).isThere(), /which is your home folder/);
    await assert.rejects(rig.at("/").isThere(), /contains your home folder/);
    await rig.home.write(join(rig.home.data, "file"), "");
    await assert.rejects(rig.at(rig.home.data).isThere(), /belongs to Trunkline itself/);
    await using inside = openLocalSandbox(
      new AppContext(defaultConfig(rig.home.data)),
      [rig.home.project],
      { PATH: process.env.PATH, HOME: rig.home.path, TRUNKLINE_SERVICES: "http://127.0.0.1:1" },
    );
    assert.equal(await inside.isThere(), true);
  });

  it("is there again when the folder of the session is", async () => {
    await using rig = await open("auto");
    const folder = join(rig.home.project, "sub");
    await using sandbox = rig.at(folder);
    assert.equal(await sandbox.isThere(), false);
    await mkdir(folder);
    assert.equal(await sandbox.isThere(), true);
  });

  it("uses no folder that a command of an earlier session may have made a link", async () => {
    await using rig = await open("auto");
    const work = join(rig.home.path, "work");
    await rig.home.write(join(work, "a/file"), "");
    {
      await using first = rig.at(work);
      assert.equal(await first.isThere(), true);
    }
    await symlink(rig.home.data, join(work, "planted"));
    await assert.rejects(rig.at(join(work, "planted")).isThere(), /a link that a command may have/);
    await using second = rig.at(join(work, "a"));
    assert.equal(await second.isThere(), true);
  });

  it("sees the rest of its work tree, in a folder of it", async () => {
    await using rig = await open("auto");
    const { project } = rig.home;
    await rig.home.write(join(project, "beside"), "seen");
    await rig.home.write(join(project, ".git/HEAD"), "ref: refs/heads/main\n");
    await rig.home.write(join(project, "sub/file"), "");
    await using sandbox = rig.at(join(project, "sub"));
    await using inside = await sandbox.enter(async () => false);
    const args = ["-c", "exec 2>&1; cat ../beside; echo x > ../beside; echo y > file"];
    const shell = { command: "/bin/sh", args, env: process.env, cwd: join(project, "sub") };
    const child = spawnWrapped(inside.confine(shell) as Program);
    assert.match(await text(child.stdout as Readable), /^seen.*Read-only file system\n$/s);
  });
});

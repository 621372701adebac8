import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { environmentPlan, identityOfEnvironment, withIdentity } from "./git-settings.ts";
import { HOME, SampleIdentities, WORK } from "../../test/samples/sample-identities.ts";
import { resolveIdentity } from "./identity.ts";

const run = promisify(execFile);

/** An `ssh` that writes down what it was called with. */
function fakeSsh(sample: SampleIdentities): NodeJS.ProcessEnv {
  const log = join(sample.home, "ssh.log");
  const script = `#!/bin/sh\nfor word in "$@"; do printf '%s\\n' "$word"; done > '${log}'\nexit 1\n`;
  chmodSync(sample.write("bin/ssh", script), 0o755);
  return { PATH: `${join(sample.home, "bin")}:${process.env.PATH}` };
}

describe("environmentPlan()", { timeout: 120_000 }, () => {
  it("lets two agents commit as two people, at once, in two work trees", async () => {
    using sample = new SampleIdentities();
    const { signing: _, ...unsigned } = HOME;
    const people = {
      work: sample.find("work"),
      home: resolveIdentity("home", unsigned, sample.env),
    };
    sample.write(".gitconfig", "[user]\n\tname = Nobody\n\temail = nobody@example.com\n");
    sample.commit();
    const before = [sample.read(".gitconfig"), sample.read("app/.git/config")];
    const trees = { work: sample.addWorktree("one"), home: sample.addWorktree("two") };
    const commits = 10;
    await Promise.all(
      (["work", "home"] as const).map(async (name) => {
        const env = withIdentity(people[name], sample.env);
        for (let count = 0; count < commits; count++) {
          await run("git", ["commit", "-q", "--allow-empty", "-m", "x"], { cwd: trees[name], env });
        }
      }),
    );
    const authors = (tree: string) =>
      sample.runIn(tree, "log", `-${commits}`, "--format=%an|%ae|%cn|%ce").split("\n");
    const ada = "Ada Lovelace|ada@acme.example|Ada Lovelace|ada@acme.example";
    assert.deepEqual(new Set(authors(trees.work)), new Set([ada]));
    const home = "ada|ada@home.example|ada|ada@home.example";
    assert.deepEqual(new Set(authors(trees.home)), new Set([home]));
    assert.deepEqual([sample.read(".gitconfig"), sample.read("app/.git/config")], before);
  });

  it("pins the SSH key, whatever its name and whatever else is set", () => {
    using sample = new SampleIdentities();
    const keys = ["/k/plain", "/k/with space", "/k/it's", '/k/"double"', "/k/$HOME `x` \\ ;&"];
    for (const sshKey of keys) {
      const identity = resolveIdentity("x", { ...WORK, sshKey }, sample.env);
      const base = {
        ...sample.env,
        ...fakeSsh(sample),
        GIT_SSH_COMMAND: "false",
        GIT_SSH: "false",
      };
      const env = withIdentity(identity, base);
      assert.throws(() => sample.runWith(sample.path, env, "ls-remote", "git@example.com:a/b"));
      const words = readFileSync(join(sample.home, "ssh.log"), "utf8").split("\n");
      assert.equal(words[words.indexOf("-i") + 1], sshKey);
      assert.ok(words.includes("IdentitiesOnly=yes"));
    }
  });

  it("escapes a percent sign in a key's name for ssh", async () => {
    using sample = new SampleIdentities();
    const key = join(sample.home, 'a %h "b');
    await run("ssh-keygen", ["-q", "-t", "ed25519", "-N", "", "-f", key]);
    const identity = resolveIdentity("x", { ...WORK, sshKey: key }, sample.env);
    const command = environmentPlan(identity).set.GIT_SSH_COMMAND ?? "";
    // It looks for the key once it is connected.
    await using server = createServer((socket) => socket.resume().end("no ssh\n")).listen(
      0,
      "127.0.0.1",
    );
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const script = `${command} -F none -v -p ${port} 127.0.0.1`;
    const { stderr } = await run("sh", ["-c", script]).catch((error: { stderr: string }) => error);
    assert.ok(stderr.includes(`identity file ${key} type 3`), stderr);
  });

  it("sets signing, and turns it off for an identity that does not sign", () => {
    using sample = new SampleIdentities();
    sample.write(".gitconfig", "[commit]\n\tgpgSign = true\n[user]\n\tsigningKey = STRANGER\n");
    const config = (name: string, key: string) => {
      const env = withIdentity(sample.find(name), sample.env);
      return sample.runWith(sample.path, env, "config", "--get", key);
    };
    assert.equal(config("work", "commit.gpgSign"), "false");
    assert.equal(config("home", "commit.gpgSign"), "true");
    assert.equal(config("home", "gpg.format"), "openpgp");
    assert.equal(config("home", "user.signingKey"), "ABCDEF0123456789");
  });

  it("signs with the login key for ssh, and with the key for the email address for gpg", () => {
    const key = (settings: typeof HOME) => {
      const { set } = environmentPlan(resolveIdentity("x", settings, { HOME: "/h" }));
      const at = Object.entries(set).find(([, value]) => value === "user.signingKey")?.[0];
      return set[(at ?? "").replace("KEY", "VALUE")];
    };
    assert.equal(key({ ...WORK, signing: { format: "ssh" } }), "/h/.ssh/id_work");
    assert.equal(key({ ...WORK, signing: { format: "openpgp" } }), "ada@acme.example");
    const { sshKey: _, ...keyless } = WORK;
    assert.throws(() => key({ ...keyless, signing: { format: "ssh" } }), /no key to sign with/);
  });

  it("adds to settings of the environment, and replaces those of another identity", () => {
    using sample = new SampleIdentities();
    const base = {
      ...sample.env,
      GIT_CONFIG_COUNT: "1",
      GIT_CONFIG_KEY_0: "x.y",
      GIT_CONFIG_VALUE_0: "kept",
    };
    const home = withIdentity(sample.find("home"), base);
    const { sshKey: _, ...keyless } = WORK;
    const work = withIdentity(resolveIdentity("work", keyless, sample.env), home);
    assert.equal(sample.runWith(sample.path, work, "config", "x.y"), "kept");
    assert.equal(sample.runWith(sample.path, work, "config", "user.email"), "ada@acme.example");
    assert.equal(work.GIT_SSH_COMMAND, undefined);
    assert.throws(() => sample.runWith(sample.path, work, "config", "user.signingKey"));
    const leftOver = Object.keys(work).filter((name) => name.startsWith("GIT_CONFIG_KEY_"));
    assert.equal(leftOver.length, Number(work.GIT_CONFIG_COUNT));
    assert.equal(identityOfEnvironment(work), "work");
  });

  it("makes git ask only our helper for passwords", () => {
    using sample = new SampleIdentities();
    sample.write(".gitconfig", "[credential]\n\thelper = stranger\n");
    const options = { credentialHelper: "!trunkline helper" };
    const env = withIdentity(sample.find("work"), sample.env, options);
    const helpers = sample.runWith(sample.path, env, "config", "--get-all", "credential.helper");
    assert.deepEqual(helpers.split("\n"), ["stranger", "", "!trunkline helper"]);
    assert.equal(sample.runWith(sample.path, env, "config", "credential.useHttpPath"), "true");
  });

  it("refuses an identity without an author", () => {
    const { email: _, ...nameless } = WORK;
    const identity = resolveIdentity("work", nameless, {});
    assert.throws(() => environmentPlan(identity), /no email.*identity edit work --email/);
  });
});

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { HOME, SampleIdentities } from "../../../test/samples/sample-identities.ts";

describe("planSwitch()", { timeout: 120_000 }, () => {
  it("lists every change and makes none", async () => {
    using sample = new SampleIdentities();
    const before = sample.read("app/.git/config");
    const { settings, files } = await sample.plan("home");
    assert.deepEqual(
      settings.map(({ key, before: old, after }) => [key, old, after]),
      [
        ["trunkline.identity", [], ["home"]],
        ["user.name", [], ["ada"]],
        ["user.email", [], ["ada@home.example"]],
        ["gpg.format", [], ["openpgp"]],
        ["user.signingKey", [], ["ABCDEF0123456789"]],
        ["commit.gpgSign", [], ["true"]],
        ["core.sshCommand", [], settings.at(-2)?.after],
        [
          "trunkline.sets",
          [],
          ["user.signingKey", "gpg.format", "commit.gpgSign", "core.sshCommand"],
        ],
      ],
    );
    assert.match(settings.at(-2)?.after[0] ?? "", /^ssh -o .* -o IdentitiesOnly=yes$/);
    assert.deepEqual(files[0]?.before, before);
    assert.deepEqual(sample.read("app/.git/config"), before);
    assert.ok(!existsSync(join(sample.home, "data")));
  });

  it("has nothing to change if the identity is already set", async () => {
    using sample = new SampleIdentities();
    await sample.switch("home");
    assert.deepEqual((await sample.plan("home")).files, []);
    assert.equal((await sample.switch("home")).id, undefined);
  });

  it("warns about settings that take precedence over the file it writes", async () => {
    using sample = new SampleIdentities();
    sample.run("config", "user.email", "local@example.com");
    const env = { ...sample.env, GIT_AUTHOR_EMAIL: "env@example.com" };
    const { notes } = await sample.plan("work", { global: true, env });
    assert.match(notes.join("\n"), /variable GIT_AUTHOR_EMAIL overrides user.email/);
    assert.match(notes.join("\n"), /user.email is also set in the local configuration/);
  });

  it("says that the repository is for another identity, or for none", async () => {
    using sample = new SampleIdentities();
    assert.deepEqual((await sample.plan("work")).notes.slice(0, -1), []);
    sample.run("remote", "add", "origin", "https://github.com/acme/app");
    const text = async (name: string) => (await sample.plan(name)).notes.join("\n");
    assert.match(
      await text("home"),
      /'origin' belongs to identity 'work', which has the owner 'acme' on github\.com, not to 'home'/,
    );
    assert.doesNotMatch(await text("work"), /belongs|match/);
    sample.run("remote", "set-url", "origin", "https://git.elsewhere.example/acme/app");
    assert.match(await text("work"), /elsewhere\.example\S* does not match identity 'work'/);
  });

  it("says that submodules keep their identity", async () => {
    using sample = new SampleIdentities();
    sample.commit();
    sample.run("-c", "protocol.file.allow=always", "submodule", "add", "-q", sample.path, "lib");
    assert.match((await sample.plan("work")).notes.join(), /keep their identity: lib/);
  });
});

describe("switching", { timeout: 120_000 }, () => {
  it("keeps commits possible: the format is openpgp, never gpg (RemoteJuggler defect 1)", async () => {
    using sample = new SampleIdentities({
      home: { ...HOME, signing: { format: "openpgp", signCommits: false } },
    });
    await sample.switch("home");
    assert.equal(sample.config("gpg.format"), "openpgp");
    sample.run("commit", "-q", "--allow-empty", "-m", "x");
    assert.equal(sample.run("log", "-1", "--format=%an <%ae>"), "ada <ada@home.example>");
  });

  it("changes only the repository: neither the user's own files nor remotes", async () => {
    using sample = new SampleIdentities();
    const url = "ssh://git@github.com:443/acme/app";
    sample.run("remote", "add", "origin", url);
    sample.run("remote", "add", "web", "https://github.com/acme/app.git");
    sample.write(".gitconfig", "[user]\n\tname = Me\n");
    await sample.switch("work");
    assert.equal(sample.read(".gitconfig").toString(), "[user]\n\tname = Me\n");
    assert.equal(sample.config("remote.origin.url"), url);
    assert.equal(sample.config("remote.web.url"), "https://github.com/acme/app.git");
    assert.equal(sample.config("user.email"), "ada@acme.example");
    assert.match(sample.config("core.sshCommand"), /id_work' -o IdentitiesOnly=yes$/);
  });

  it("writes no key twice, which git config would refuse to change later", async () => {
    using sample = new SampleIdentities();
    sample.run("config", "user.email", "old@example.com");
    await sample.switch("work");
    sample.run("config", "user.email", "new@example.com");
    assert.equal(sample.config("user.email"), "new@example.com");
  });
});

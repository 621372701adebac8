import assert from "node:assert/strict";
import { existsSync, lstatSync, renameSync, statSync, symlinkSync } from "node:fs";
import { chmodSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { HOME, SampleIdentities, WORK } from "../../test/samples/sample-identities.ts";

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

  it("has nothing to change for one who is switched already", async () => {
    using sample = new SampleIdentities();
    await sample.switch("home");
    assert.deepEqual((await sample.plan("home")).files, []);
    assert.equal((await sample.switch("home")).id, undefined);
  });

  it("warns of what is stronger than the file it writes to", async () => {
    using sample = new SampleIdentities();
    sample.run("config", "user.email", "local@example.com");
    const env = { ...sample.env, GIT_AUTHOR_EMAIL: "env@example.com" };
    const { notes } = await sample.plan("work", { global: true, env });
    assert.match(notes.join("\n"), /variable GIT_AUTHOR_EMAIL is stronger/);
    assert.match(notes.join("\n"), /user.email is also set in local configuration/);
  });

  it("says that submodules keep the identity they have", async () => {
    using sample = new SampleIdentities();
    sample.commit();
    sample.run("-c", "protocol.file.allow=always", "submodule", "add", "-q", sample.path, "lib");
    assert.match((await sample.plan("work")).notes.join(), /keep the identity they have: lib/);
  });

  it("goes through submodules and theirs when told to, and one undo brings all back", async () => {
    using sample = new SampleIdentities();
    sample.commit();
    const add = (folder: string, path: string): void => {
      const allow = ["-c", "protocol.file.allow=always"];
      sample.runIn(folder, ...allow, "submodule", "add", "-q", join(sample.home, "seed"), path);
    };
    sample.run("clone", "-q", "--bare", sample.path, join(sample.home, "seed"));
    for (const path of ["lib", "theirs"]) add(sample.path, path);
    const [lib, theirs] = [join(sample.path, "lib"), join(sample.path, "theirs")];
    add(lib, "deep er");
    sample.runIn(theirs, "remote", "set-url", "origin", "git@gh-home:ada/lib.git");
    const files = ["", "modules/lib/", "modules/lib/modules/deep er/", "modules/theirs/"];
    const snapshot = () => files.map((path) => sample.read(`app/.git/${path}config`).toString());
    const before = snapshot();
    const { plan } = await sample.switch("work", { recurseSubmodules: true });
    assert.match(plan.notes.join(), /Submodule 'theirs' is for 'home', and stays as it is/);
    for (const folder of [sample.path, lib, join(lib, "deep er")]) {
      assert.equal(sample.config("user.email", folder), "ada@acme.example");
    }
    assert.equal(sample.config("user.email", theirs), "");
    await sample.undo();
    assert.deepEqual(snapshot(), before);
  });

  it("does not follow what is called a submodule out of the repository", async () => {
    using sample = new SampleIdentities();
    const elsewhere = join(sample.home, "elsewhere");
    sample.run("init", "-q", elsewhere);
    symlinkSync(elsewhere, join(sample.path, "lib"));
    const modules = ["lib", "../elsewhere", "."].map((path) => {
      return `[submodule "${path}"]\n\tpath = ${path}\n\turl = ./x\n`;
    });
    sample.write("app/.gitmodules", modules.join(""));
    const { files } = await sample.plan("work", { recurseSubmodules: true });
    assert.deepEqual(
      files.map(({ path }) => path),
      [join(sample.path, ".git/config")],
    );
  });
});

describe("switching", { timeout: 120_000 }, () => {
  it("leaves commits possible: the format is openpgp, never gpg (RemoteJuggler defect 1)", async () => {
    using sample = new SampleIdentities({
      home: { ...HOME, signing: { format: "openpgp", signCommits: false } },
    });
    await sample.switch("home");
    assert.equal(sample.config("gpg.format"), "openpgp");
    sample.run("commit", "-q", "--allow-empty", "-m", "x");
    assert.equal(sample.run("log", "-1", "--format=%an <%ae>"), "ada <ada@home.example>");
  });

  it("changes the repository alone: nothing of the person's own, no remote", async () => {
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

  it("can be followed by git config, which would refuse a key that is there twice", async () => {
    using sample = new SampleIdentities();
    sample.run("config", "user.email", "old@example.com");
    await sample.switch("work");
    sample.run("config", "user.email", "new@example.com");
    assert.equal(sample.config("user.email"), "new@example.com");
  });

  it("does not leave anything of the identity before it", async () => {
    using sample = new SampleIdentities();
    await sample.switch("home");
    const { sshKey: _, ...keyless } = WORK;
    using other = new SampleIdentities({ work: keyless });
    sample.run("config", "core.editor", "ed");
    writeFileSync(join(other.path, ".git/config"), sample.read("app/.git/config"));
    await other.switch("work");
    for (const key of ["user.signingKey", "gpg.format", "commit.gpgSign", "core.sshCommand"]) {
      assert.equal(other.config(key), "", key);
    }
    assert.equal(other.config("core.editor"), "ed");
  });

  it("leaves what somebody else has set, though identities come and go", async () => {
    const { sshKey: _, ...keyless } = WORK;
    using sample = new SampleIdentities({
      one: keyless,
      two: { ...keyless, email: "two@x.example" },
    });
    const own = {
      "core.sshCommand": "ssh -v",
      "credential.helper": "store",
      "user.signingKey": "MINE",
      "gpg.format": "ssh",
    };
    for (const [key, value] of Object.entries(own)) sample.run("config", key, value);
    for (const name of ["one", "two", "one"]) await sample.switch(name);
    for (const [key, value] of Object.entries(own)) assert.equal(sample.config(key), value, key);
  });

  it("does not sign with somebody else's key", async () => {
    using sample = new SampleIdentities();
    sample.write(".gitconfig", "[commit]\n\tgpgsign = yes\n[user]\n\tsigningKey = STRANGER\n");
    await sample.switch("work");
    assert.equal(sample.config("commit.gpgSign"), "false");
  });

  it("is not undone by author.email, or by a file that the repository includes", async () => {
    using sample = new SampleIdentities();
    sample.write(".gitconfig", "[author]\n\temail = stranger@example.com\n");
    sample.write("app/.git/more", "[user]\n\temail = included@example.com\n");
    sample.run("config", "user.name", "Before");
    sample.run("config", "include.path", "more");
    await sample.switch("work");
    sample.run("commit", "-q", "--allow-empty", "-m", "x");
    const author = sample.run("log", "-1", "--format=%ae %ce");
    assert.equal(author, "ada@acme.example ada@acme.example");
  });

  it("gives each work tree its own identity, and the others none", async () => {
    using sample = new SampleIdentities();
    sample.commit();
    const linked = sample.addWorktree("linked");
    await sample.switch("work", {}, linked);
    assert.equal(sample.config("user.email", linked), "ada@acme.example");
    assert.equal(sample.config("user.email"), "");
    await sample.switch("home");
    assert.equal(sample.config("user.email", linked), "ada@acme.example");
    assert.equal(sample.config("user.email"), "ada@home.example");
  });

  it("keeps a bare repository bare and its work trees not", async () => {
    using sample = new SampleIdentities();
    sample.commit();
    sample.runIn(sample.home, "clone", "-q", "--bare", sample.path, "hub.git");
    const hub = join(sample.home, "hub.git");
    const spoke = join(sample.home, "spoke");
    sample.runIn(hub, "worktree", "add", "-q", spoke, "main");
    const before = sample.read("hub.git/config");
    await sample.switch("work", {}, spoke);
    assert.equal(sample.runIn(hub, "rev-parse", "--is-bare-repository"), "true");
    assert.equal(sample.runIn(spoke, "rev-parse", "--is-bare-repository"), "false");
    sample.runIn(spoke, "status");
    assert.equal(sample.config("user.email", spoke), "ada@acme.example");
    assert.equal(sample.config("user.email", hub), "");
    await sample.undo({ worktree: spoke });
    assert.deepEqual(sample.read("hub.git/config"), before);
    assert.ok(!existsSync(join(hub, "config.worktree")));
  });

  it("writes to the person's own file when asked, through links, with its permissions", async () => {
    using sample = new SampleIdentities();
    sample.write("dotfiles/gitconfig", "[alias]\n\tst = status\n");
    chmodSync(join(sample.home, "dotfiles/gitconfig"), 0o640);
    symlinkSync("dotfiles/gitconfig", join(sample.home, ".gitconfig"));
    const before = sample.read("app/.git/config");
    await sample.switch("work", { global: true });
    assert.ok(lstatSync(join(sample.home, ".gitconfig")).isSymbolicLink());
    assert.equal(statSync(join(sample.home, "dotfiles/gitconfig")).mode & 0o777, 0o640);
    assert.equal(sample.config("user.email", sample.home), "ada@acme.example");
    assert.deepEqual(sample.read("app/.git/config"), before);
    await sample.undo({});
    assert.equal(sample.read("dotfiles/gitconfig").toString(), "[alias]\n\tst = status\n");
  });

  it("leaves alone what is no file", async () => {
    using sample = new SampleIdentities();
    const env = { ...sample.env, GIT_CONFIG_GLOBAL: "/dev/null" };
    const switched = sample.switch("work", { global: true, env });
    await assert.rejects(switched, /Cannot change '\/dev\/null': it is not a regular file/);
    assert.ok(statSync("/dev/null").isCharacterDevice());
  });

  it("says that it cannot keep a journal, and changes nothing", async () => {
    using sample = new SampleIdentities();
    const before = sample.read("app/.git/config");
    sample.write("data", "a file in the folder's place");
    await assert.rejects(sample.switch("work"), { code: "unavailable", message: /Cannot make/ });
    assert.deepEqual(sample.read("app/.git/config"), before);
  });

  it("rewrites remotes only when asked: all of them, each in its form (defect 7)", async () => {
    using sample = new SampleIdentities();
    const urls = {
      web: ["https://github.com/acme/app.git", "git@gh-work:acme/app.git"],
      port: ["ssh://git@github.com:443/acme/app", "ssh://git@gh-work:443/acme/app"],
      scp: ["git@github.com:acme/app", "git@gh-work:acme/app"],
      alias: ["git@gh-home:ada/app", "git@gh-work:ada/app"],
      short: ["gh:acme/app", "git@gh-work:acme/app"],
      lab: ["https://gitlab.com/acme/app", "https://gitlab.com/acme/app"],
      disk: ["/srv/app.git", "/srv/app.git"],
    } as const;
    sample.run("config", "url.https://github.com/.insteadOf", "gh:");
    for (const [name, [url]] of Object.entries(urls)) sample.run("remote", "add", name, url);
    sample.run("config", "--add", "remote.web.url", "git@github.com:acme/second");
    sample.run("config", "remote.web.pushurl", "https://github.com/ada/push");
    const before = sample.read("app/.git/config");
    await sample.switch("work", { rewriteRemotes: true });
    for (const [name, [, url]] of Object.entries(urls)) {
      const all = sample.run("config", "--get-all", `remote.${name}.url`).split("\n");
      assert.equal(all[0], url);
    }
    const second = sample.run("config", "--get-all", "remote.web.url").split("\n")[1];
    assert.equal(second, "git@gh-work:acme/second");
    assert.equal(sample.config("remote.web.pushurl"), "git@gh-work:ada/push");
    await sample.undo();
    assert.deepEqual(sample.read("app/.git/config"), before);
  });

  it("refuses to rewrite remotes for an identity without an ssh host", async () => {
    const { sshHost: _, ...plain } = WORK;
    using sample = new SampleIdentities({ work: plain });
    await assert.rejects(sample.switch("work", { rewriteRemotes: true }), /has no ssh host/);
  });

  it("waits for git's own lock", async () => {
    using sample = new SampleIdentities();
    const before = sample.read("app/.git/config");
    const lock = sample.write("app/.git/config.lock", "");
    setTimeout(() => rmSync(lock), 50);
    await sample.switch("work");
    assert.equal(sample.config("user.email"), "ada@acme.example");
    await sample.undo();
    assert.deepEqual(sample.read("app/.git/config"), before);
  });

  it("puts back what it has done when a later file cannot be changed", async () => {
    using sample = new SampleIdentities();
    sample.commit();
    const linked = sample.addWorktree("linked");
    const before = sample.read("app/.git/config");
    // A folder where a file should be: it cannot be read, nor replaced.
    const plan = await sample.plan("work", {}, linked);
    const path = plan.files.at(-1)?.path ?? "";
    const { applyPlan } = await import("./switch/apply.ts");
    const spoilt = async () => {
      const made = await sample.plan("work", {}, linked);
      writeFileSync(path, "[x]\n\ty = 1\n");
      return made;
    };
    await assert.rejects(applyPlan(sample.journal, sample.git, spoilt), /has just changed it/);
    assert.deepEqual(sample.read("app/.git/config"), before);
    const [entry] = await sample.journal.entries();
    assert.equal(entry?.outcome, "rolled-back");
  });

  it("serialises switches at the same time: one identity is whole", async () => {
    using sample = new SampleIdentities();
    const before = sample.read("app/.git/config");
    const names = Array.from({ length: 12 }, (_, at) => (at % 2 === 0 ? "work" : "home"));
    await Promise.all(names.map((name) => sample.switch(name)));
    const email = sample.config("user.email");
    const isWork = email === "ada@acme.example";
    assert.equal(sample.config("trunkline.identity"), isWork ? "work" : "home");
    assert.equal(sample.config("gpg.format"), isWork ? "" : "openpgp");
    const entries = await sample.journal.entries();
    assert.ok(entries.every(({ outcome }) => outcome === "done"));
    for (const _ of entries) await sample.undo();
    assert.deepEqual(sample.read("app/.git/config"), before);
  });
});

describe("planUndo()", { timeout: 120_000 }, () => {
  it("undoes one switch after another, back to the first byte", async () => {
    using sample = new SampleIdentities();
    const states = [sample.read("app/.git/config")];
    for (const name of ["work", "home", "work"]) {
      await sample.switch(name);
      states.push(sample.read("app/.git/config"));
    }
    for (const state of states.toReversed().slice(1)) {
      await sample.undo();
      assert.deepEqual(sample.read("app/.git/config"), state);
    }
    await assert.rejects(sample.undo(), /nothing has been switched in/);
  });

  it("refuses where somebody has changed a file since, unless forced", async () => {
    using sample = new SampleIdentities();
    const before = sample.read("app/.git/config");
    await sample.switch("work");
    sample.run("remote", "add", "origin", "x:y");
    await assert.rejects(sample.undo(), /config' has changed since.*--force/);
    assert.equal(sample.config("remote.origin.url"), "x:y");
    await sample.undo({ worktree: sample.path, force: true });
    assert.deepEqual(sample.read("app/.git/config"), before);
  });

  it("undoes the switch of its own work tree, and leaves the others their identities", async () => {
    using sample = new SampleIdentities();
    sample.commit();
    const linked = sample.addWorktree("linked");
    const before = sample.read("app/.git/config");
    await sample.switch("work", {}, linked);
    await sample.switch("home");
    const { plan } = await sample.undo({ worktree: linked });
    assert.match(plan.notes.join(), /extensions.worktreeConfig stays on/);
    assert.equal(sample.config("user.email"), "ada@home.example");
    assert.equal(sample.config("user.email", linked), "");
    await sample.undo();
    assert.equal(sample.config("user.email"), "");
    assert.notDeepEqual(sample.read("app/.git/config"), before);
  });

  it("restores a single work tree's switch to the byte", async () => {
    using sample = new SampleIdentities();
    sample.commit();
    const linked = sample.addWorktree("linked");
    const before = sample.read("app/.git/config");
    await sample.switch("work", {}, linked);
    await sample.undo({ worktree: linked });
    assert.deepEqual(sample.read("app/.git/config"), before);
    assert.ok(!existsSync(join(sample.path, ".git/worktrees/linked/config.worktree")));
  });

  it("copes with a repository that is gone", async () => {
    using sample = new SampleIdentities();
    await sample.switch("work");
    renameSync(sample.path, join(sample.home, "moved"));
    const plan = await sample.undo({ worktree: sample.path }).catch((error: Error) => error);
    assert.ok(!(plan instanceof Error && /changed since/.test(plan.message)));
  });
});

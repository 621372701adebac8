import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { applyPlan } from "./apply.ts";
import { HOME, SampleIdentities, WORK } from "../../../test/samples/sample-identities.ts";
import { sshOptions } from "../detect/ssh-options.ts";
import { planSync } from "../identities.ts";

function sample(): SampleIdentities {
  const { signing: _, ...home } = HOME;
  return new SampleIdentities({ work: { ...WORK, match: [{ path: "~/my work" }] }, home });
}

async function sync(on: SampleIdentities, remove = false) {
  const options = { env: on.env, folder: join(on.home, "included"), remove };
  return await applyPlan(on.journal, on.git, () => planSync(on.identities, on.git, options));
}

describe("planSync()", { timeout: 120_000 }, () => {
  it("adds the identities' hosts to the SSH configuration, and affects no others", async () => {
    using on = sample();
    const text = "ServerAliveInterval 30\nHost *\n  IdentityFile ~/.ssh/usual\n  User me\n";
    on.write(".ssh/config", text);
    const before = await sshOptions("example.com", { env: on.env });
    await sync(on);
    const work = await sshOptions("gh-work", { env: on.env });
    assert.equal(work.hostname, "github.com");
    assert.equal(work.user, "git");
    assert.equal(work.identityFiles[0], join(on.home, ".ssh/id_work"));
    assert.ok(work.identitiesOnly);
    assert.deepEqual(await sshOptions("example.com", { env: on.env }), before);
    assert.ok(on.read(".ssh/config").toString().endsWith(text));
    assert.ok(statSync(join(on.home, ".ssh/config")).isFile());
  });

  it("adds conditions for folders and remotes to the git configuration", async () => {
    using on = sample();
    on.write(".gitconfig", "[user]\n\tname = Usual\n\temail = usual@example.com");
    await sync(on);
    const folder = join(on.home, "my work/x");
    mkdirSync(folder, { recursive: true });
    on.runIn(folder, "init", "-q");
    assert.equal(on.config("user.email", folder), "ada@acme.example");
    assert.equal(on.config("user.email"), "usual@example.com");
    on.run("remote", "add", "origin", "git@gh-home:ada/app.git");
    assert.equal(on.config("user.email"), "ada@home.example");
  });

  it("tells git the owners of identities, for HTTPS and SSH, as detection orders them", async () => {
    const { signing: _, ...home } = HOME;
    const match = [{ path: "~/clients" }];
    const wide = { ...home, user: "bob", sshHost: "gh-wide", organizations: ["group"], match };
    using on = new SampleIdentities({ work: WORK, home, wide });
    const { plan } = await sync(on);
    assert.deepEqual(plan.notes, []);
    let count = 0;
    const found = (url: string, parent = "repositories") => {
      const folder = join(on.home, parent, String(++count));
      mkdirSync(folder, { recursive: true });
      on.runIn(folder, "init", "-q");
      on.runIn(folder, "remote", "add", "origin", url);
      return on.config("trunkline.identity", folder);
    };
    for (const [url, name] of [
      ["https://github.com/acme/app.git", "work"],
      ["https://ada-acme@github.com/acme/app", "work"],
      ["git@github.com:acme/app.git", "work"],
      ["ssh://git@github.com/acme/app", "work"],
      ["ssh://git@github.com:22/acme/app", "work"],
      // The longer owner, and the account itself.
      ["git@github.com:group/sub/app", "work"],
      ["git@github.com:group/other/app", "wide"],
      ["https://github.com/ada/app", "home"],
      ["https://github.com/acmes/app", ""],
      ["https://github.com.evil.example/acme/app", ""],
    ] as const) {
      assert.equal(found(url), name, url);
    }
    assert.equal(found("https://github.com/acme/app", "clients"), "wide");
    const outer = join(on.home, "clients", String(count));
    const inner = join(outer, "lib");
    mkdirSync(join(outer, ".git/modules"));
    on.runIn(outer, "init", "-q", `--separate-git-dir=${outer}/.git/modules/lib`, inner);
    assert.equal(on.config("trunkline.identity", inner), "wide");
    on.runIn(inner, "remote", "add", "origin", "git@github.com:acme/lib");
    assert.equal(on.config("trunkline.identity", inner), "work");
    await sync(on, true);
    assert.ok(!existsSync(join(on.home, ".gitconfig")));
    assert.deepEqual(readdirSync(join(on.home, "included")), []);
  });

  it("leaves out owners that two identities have", async () => {
    const { signing: _, ...home } = HOME;
    using on = new SampleIdentities({ work: WORK, home: { ...home, organizations: ["acme"] } });
    const { plan } = await sync(on);
    const says = "'home' and 'work' are for the same repositories: git cannot choose there.";
    assert.deepEqual(plan.notes, [says]);
    on.run("remote", "add", "origin", "https://github.com/acme/app");
    assert.equal(on.config("trunkline.identity"), "");
  });

  it("is idempotent, applies changes, and leaves nothing when removed", async () => {
    using on = sample();
    on.write(".ssh/config", "Host x");
    on.write(".gitconfig", "# mine\r\n");
    const { id } = await sync(on);
    assert.ok(id !== undefined);
    assert.equal((await sync(on)).id, undefined);
    using fewer = new SampleIdentities({ work: WORK });
    const options = { env: on.env, folder: join(on.home, "included") };
    const identities = fewer.identities.map((each) => ({ ...each, sshKey: "/k" }));
    await applyPlan(on.journal, on.git, () => planSync(identities, on.git, options));
    assert.doesNotMatch(on.read(".ssh/config").toString(), /gh-home/);
    assert.ok(!existsSync(join(on.home, "included/home.gitconfig")));
    await sync(on, true);
    assert.equal(on.read(".ssh/config").toString(), "Host x");
    assert.equal(on.read(".gitconfig").toString(), "# mine\r\n");
    assert.ok(!existsSync(join(on.home, "included/work.gitconfig")));
  });

  it("creates missing files, and undo removes them again", async () => {
    using on = sample();
    await sync(on);
    assert.equal(statSync(join(on.home, ".ssh/config")).mode & 0o777, 0o600);
    await on.undo({});
    assert.ok(!existsSync(join(on.home, ".ssh/config")));
    assert.ok(!existsSync(join(on.home, ".gitconfig")));
  });

  it("leaves out hosts and conditions that the user has configured, also by Include or includeIf", async () => {
    using on = sample();
    on.write(".ssh/config", `Include ${on.home}/.ssh/more\n`);
    const key = join(on.home, ".ssh/id_work");
    on.write(
      ".ssh/more",
      `Match host gh-work\n HostName github.com\n IdentityFile ${key}\n IdentitiesOnly yes\n`,
    );
    on.write(".gitconfig", `[includeIf "gitdir:${on.home}/my work/"]\n\tpath = own\n`);
    const { plan } = await sync(on);
    assert.match(plan.notes.join("\n"), /already defines 'gh-work'/);
    assert.match(plan.notes.join("\n"), /already has settings for 'gitdir:.*my work\/'/);
    assert.doesNotMatch(on.read(".ssh/config").toString(), /Host gh-work/);
    assert.match(on.read(".ssh/config").toString(), /Host gh-home/);
    assert.equal((await sync(on)).id, undefined);
  });
});

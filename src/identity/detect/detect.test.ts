import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { IdentitySettings } from "../identity.ts";
import { HOME, SampleIdentities, WORK } from "../../../test/samples/sample-identities.ts";

/** What is detected in a repository with such a remote. */
async function detected(url: string, settings?: Record<string, IdentitySettings>) {
  using sample = new SampleIdentities(settings);
  sample.run("remote", "add", "origin", url);
  const { identity, confidence, reason, isAmbiguous } = await sample.detect();
  return { identity, confidence, reason, isAmbiguous };
}

const sure = { confidence: "high", isAmbiguous: false };

describe("detectIdentity()", { timeout: 120_000 }, () => {
  it("matches an SSH host", async () => {
    const work = { identity: "work", reason: "ssh-host", ...sure };
    assert.deepEqual(await detected("git@gh-work:somebody/app.git"), work);
    assert.deepEqual(await detected("ssh://git@GH-work:22/somebody/app"), work);
  });

  it("matches organizations, which the original never read (RemoteJuggler defect 4)", async () => {
    const work = { identity: "work", reason: "organization", ...sure };
    for (const url of [
      "https://github.com/acme/app.git",
      "https://x:secret@github.com/ACME/app",
      "git@github.com:acme/app.git",
      "ssh://git@github.com:443/acme/app",
      "https://github.com/acme/sub/app",
    ]) {
      assert.deepEqual(await detected(url), work, url);
    }
    assert.equal((await detected("https://github.com/acmeish/app")).isAmbiguous, true);
  });

  it("matches the account's own name", async () => {
    const found = await detected("https://github.com/ada/dotfiles");
    assert.deepEqual(found, { identity: "home", reason: "organization", ...sure });
  });

  it("prefers the more specific group", async () => {
    const settings = {
      wide: { ...WORK, organizations: ["group"], provider: "gitlab" },
      near: { ...HOME, organizations: ["group/sub"], provider: "gitlab" },
    } as const;
    const { identity } = await detected("git@gitlab.com:group/sub/deep/app", settings);
    assert.equal(identity, "near");
  });

  it("reports identities that match equally well, and chooses none of them", async () => {
    using sample = new SampleIdentities();
    sample.run("remote", "add", "origin", "https://github.com/stranger/app");
    const detection = await sample.detect();
    assert.equal(detection.identity, undefined);
    assert.ok(detection.isAmbiguous);
    assert.match(detection.explanation, /'work' and 'home' match the remote 'origin' equally well/);
    assert.equal(detection.candidates.length, 2);
  });

  it("is less certain about the only identity for a host, and even less about a provider", async () => {
    const only = { work: { ...WORK, organizations: [] } };
    const host = await detected("https://github.com/stranger/app", only);
    assert.deepEqual([host.identity, host.confidence, host.reason], ["work", "medium", "host"]);
    const provider = await detected("https://github.acme.example/stranger/app", only);
    const found = [provider.identity, provider.confidence, provider.reason];
    assert.deepEqual(found, ["work", "low", "provider"]);
    assert.equal((await detected("https://notgithub.com/a/b", only)).identity, undefined);
  });

  it("uses the user in a URL as a hint", async () => {
    assert.equal((await detected("https://ada@github.com/stranger/app")).identity, "home");
  });

  it("uses match rules before everything else, the more specific one first", async () => {
    const settings = {
      owner: { ...HOME, match: [{ host: "github.com", owner: "acme" }] },
      remote: { ...HOME, match: [{ remote: "*/acme/*" }] },
      work: WORK,
    };
    const { identity, reason } = await detected("git@github.com:acme/app", settings);
    assert.deepEqual([identity, reason], ["owner", "rule"]);
    const other = await detected("https://elsewhere.example/acme/app", settings);
    assert.equal(other.identity, "remote");
    assert.equal((await detected("/srv/x/acme/y", settings)).identity, "remote");
  });

  it("matches the folder, in subfolders, work trees and outside of repositories", async () => {
    using sample = new SampleIdentities({
      work: { ...WORK, match: [{ path: "~/app" }] },
      home: { ...HOME, match: [{ path: "~/play*" }] },
    });
    sample.run("remote", "add", "origin", "https://github.com/ada/app");
    sample.commit();
    const deep = join(sample.path, "a/b");
    mkdirSync(deep, { recursive: true });
    const play = join(sample.home, "playground/x");
    mkdirSync(play, { recursive: true });
    const linked = sample.addWorktree("application");
    assert.equal((await sample.detect(deep)).identity, "work");
    assert.equal((await sample.detect(linked)).identity, "work");
    assert.equal((await sample.detect(play)).identity, "home");
    assert.equal((await sample.detect(sample.home)).identity, undefined);
  });

  it("applies insteadOf to find the real target", async () => {
    using sample = new SampleIdentities();
    sample.write(".gitconfig", '[url "git@gh-work:"]\n\tinsteadOf = gh:\n');
    sample.run("remote", "add", "origin", "gh:someone/app");
    assert.equal((await sample.detect()).identity, "work");
  });

  it("warns about a repository whose own configuration redirects pushes", async () => {
    using sample = new SampleIdentities();
    sample.run("config", "url.https://evil.example/.insteadOf", "https://github.com/");
    sample.run("remote", "add", "origin", "https://github.com/acme/app");
    const { identity, notes } = await sample.detect();
    assert.equal(identity, undefined);
    assert.match(notes.join(), /redirects 'github.com' to 'evil.example'/);
  });

  it("uses the push remote, then origin, and lists remotes that differ", async () => {
    using sample = new SampleIdentities();
    sample.run("remote", "add", "upstream", "https://github.com/acme/app");
    sample.run("remote", "add", "origin", "https://github.com/ada/app");
    const first = await sample.detect();
    assert.equal(first.identity, "home");
    assert.match(first.notes.join(), /'upstream' matches identity 'work'/);
    sample.run("config", "remote.pushDefault", "upstream");
    assert.equal((await sample.detect()).identity, "work");
  });

  it("asks ssh what an unknown host stands for, including Include and Match", async () => {
    using sample = new SampleIdentities();
    sample.write(".ssh/config", `Include ${sample.home}/.ssh/more\n`);
    sample.write(
      ".ssh/more",
      `Host corp\n  HostName github.com\n  IdentityFile ${sample.home}/.ssh/id_work\n` +
        "Match host plain\n  HostName github.com\n",
    );
    sample.run("remote", "add", "origin", "git@corp:stranger/app");
    const { identity, reason } = await sample.detect();
    assert.deepEqual([identity, reason], ["work", "ssh-key"]);
    sample.run("remote", "set-url", "origin", "git@plain:acme/app");
    const other = await sample.detect();
    assert.deepEqual([other.identity, other.reason], ["work", "organization"]);
  });

  it("uses the parent repository of a submodule that has no remote", async () => {
    using sample = new SampleIdentities();
    sample.commit();
    sample.run("remote", "add", "origin", "git@gh-work:acme/app");
    sample.run("-c", "protocol.file.allow=always", "submodule", "add", "-q", sample.path, "lib");
    const lib = join(sample.path, "lib");
    sample.runIn(lib, "remote", "remove", "origin");
    assert.equal((await sample.detect(lib)).identity, "work");
    sample.runIn(lib, "remote", "add", "origin", "git@gh-home:ada/lib");
    assert.equal((await sample.detect(lib)).identity, "home");
  });

  it("believes the remote of a submodule before the path rule of the folder around it", async () => {
    const { organizations: _, ...third } = WORK;
    const match = [{ path: "~/app" }];
    const path = {
      ...third,
      user: "ada-path",
      sshHost: "gh-path",
      email: "ada@path.example",
      match,
    };
    using sample = new SampleIdentities({ work: WORK, home: HOME, path });
    sample.commit();
    sample.run("-c", "protocol.file.allow=always", "submodule", "add", "-q", sample.path, "lib");
    const lib = join(sample.path, "lib");
    const found = async (url: string) => {
      sample.runIn(lib, "remote", "set-url", "origin", url);
      return (await sample.detect(lib)).identity;
    };
    assert.equal(await found("https://github.com/acme/lib"), "work");
    assert.equal(await found("git@gh-home:any/lib"), "home");
    // The host alone fits all three.
    assert.equal(await found("https://github.com/stranger/lib"), "path");
    sample.runIn(sample.path, "remote", "add", "origin", "https://github.com/acme/app");
    assert.equal((await sample.detect()).identity, "path");
  });

  it("never shows a password", async () => {
    using sample = new SampleIdentities();
    sample.run("remote", "add", "origin", "https://ada:hunter2hunter2@github.com/acme/app");
    assert.doesNotMatch(JSON.stringify(await sample.detect()), /hunter2/);
  });

  it("does not pass a remote's host to ssh as an option", async () => {
    assert.equal((await detected("ssh://-oProxyCommand=x/a/b")).identity, undefined);
  });
});

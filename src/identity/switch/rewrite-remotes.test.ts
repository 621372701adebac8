import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleIdentities, WORK } from "../../../test/samples/sample-identities.ts";

describe("rewriteRemotes()", { timeout: 120_000 }, () => {
  it("rewrites all remotes, each in its own form, only if asked (defect 7)", async () => {
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

  it("refuses to rewrite remotes for an identity without an SSH host", async () => {
    const { sshHost: _, ...plain } = WORK;
    using sample = new SampleIdentities({ work: plain });
    await assert.rejects(sample.switch("work", { rewriteRemotes: true }), /has no SSH host/);
  });
});

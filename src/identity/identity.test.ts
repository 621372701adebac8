import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { authorOf, findIdentity, resolveIdentities, resolveIdentity } from "./identity.ts";

const ENV = { HOME: "/home/ada" };

describe("resolveIdentity()", () => {
  it("fills in the host of a known provider, and leaves it open for others", () => {
    const hosts = (["github", "gitlab", "bitbucket", "other"] as const).map((provider) => {
      return resolveIdentity("x", { provider }, ENV).host;
    });
    assert.deepEqual(hosts, ["github.com", "gitlab.com", "bitbucket.org", undefined]);
    const own = resolveIdentity("x", { provider: "gitlab", host: "Git.Corp.Example" }, ENV);
    assert.equal(own.host, "git.corp.example");
  });

  it("expands the home folder in every path, and in nothing else", () => {
    const { sshKey, match, signing } = resolveIdentity(
      "x",
      {
        provider: "other",
        sshKey: "~/.ssh/id",
        match: [{ path: "~" }, { path: "/srv/~x" }, { owner: "~ada" }],
        signing: { format: "ssh", key: "~/.ssh/sign" },
      },
      ENV,
    );
    assert.equal(sshKey, "/home/ada/.ssh/id");
    assert.deepEqual(match, [{ path: "/home/ada" }, { path: "/srv/~x" }, { owner: "~ada" }]);
    assert.equal(signing?.key, "/home/ada/.ssh/sign");
    // The key of OpenPGP is an id, and not a path.
    const pgp = { format: "openpgp", key: "~/x" } as const;
    const { signing: kept } = resolveIdentity("x", { provider: "other", signing: pgp }, ENV);
    assert.equal(kept?.key, "~/x");
  });

  it("uses the account's name if there is no display name, and the keychain for tokens", () => {
    const { displayName, tokenSource } = resolveIdentity("x", { provider: "github", user: "ada" });
    assert.deepEqual([displayName, tokenSource], ["ada", { kind: "keychain" }]);
  });
});

describe("findIdentity()", () => {
  const identities = resolveIdentities({
    work: { provider: "github" },
    home: { provider: "gitlab" },
  });

  it("suggests similar names, and lists the identities", () => {
    assert.equal(findIdentity(identities, "home").provider, "gitlab");
    assert.throws(() => findIdentity(identities, "wrok"), {
      code: "not-found",
      message: "There is no identity 'wrok'. Did you mean 'work'? Configured: work, home.",
    });
    assert.throws(
      () => findIdentity(identities, "zz; zz"),
      /Configured: work, home\. `trunkline identity add 'zz; zz' --provider github --user ACCOUNT --email ADDRESS`/,
    );
  });

  it("says how to add the first identity", () => {
    assert.throws(
      () => findIdentity([], "work"),
      /None is configured\. `trunkline identity add work --provider github --user ACCOUNT --email ADDRESS` adds it\.$/,
    );
  });
});

describe("authorOf()", () => {
  it("names the missing field, and the command that sets it", () => {
    const noUser = resolveIdentity("x", { provider: "github", email: "a@b.example" });
    assert.throws(() => authorOf(noUser), { code: "config", message: /no user.*edit x --user/ });
    const noEmail = resolveIdentity("x", { provider: "github", user: "ada" });
    assert.throws(() => authorOf(noEmail), { code: "config", message: /no email.*edit x --email/ });
  });
});

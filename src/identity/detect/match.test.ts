import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type IdentitySettings, resolveIdentity } from "../identity.ts";
import { matchIdentity, type Target } from "./match.ts";

function match(settings: Partial<IdentitySettings>, url: string, more: Partial<Target> = {}) {
  const identity = resolveIdentity("x", { provider: "github", ...settings }, { HOME: "/h" });
  const address = { raw: url, effective: url };
  return matchIdentity(identity, { folders: [], address, ...more });
}

describe("matchIdentity()", () => {
  it("requires all conditions of a rule, and ignores an empty rule", () => {
    const rule = { host: "*.corp.example", owner: "team", remote: "ssh:*" };
    const fits = "ssh://git@git.corp.example/team/app";
    assert.equal(match({ match: [rule] }, fits)?.reason, "rule");
    assert.equal(match({ match: [rule] }, "https://git.corp.example/team/app"), undefined);
    assert.equal(match({ match: [rule] }, "ssh://git@git.corp.example/teams/app"), undefined);
    assert.equal(match({ match: [{}] }, fits), undefined);
  });

  it("prefers the rule with more conditions, and of two folders the deeper one", () => {
    const folders = ["/srv/work/deep/app"];
    const weight = (rule: object) => match({ match: [rule] }, "x:y/z", { folders })?.weight ?? 0;
    assert.ok(weight({ path: "/srv/work/deep" }) > weight({ path: "/srv" }));
    assert.ok(weight({ path: "/srv", host: "x" }) > weight({ path: "/srv/work/deep" }));
  });

  it("does not confuse folders whose names begin alike", () => {
    const rules = { match: [{ path: "/srv/work/" }] };
    assert.equal(match(rules, "x:y/z", { folders: ["/srv/workshop"] }), undefined);
    assert.equal(match(rules, "x:y/z", { folders: ["/srv/work"] })?.reason, "rule");
  });

  it("ranks a rule before the ssh host, its key, the owner, the host and the provider", () => {
    const resolved = { host: "github.com", keys: ["/h/.ssh/id"] };
    const found = [
      match({ match: [{ owner: "acme" }] }, "git@github.com:acme/app"),
      match({ sshHost: "gh-work" }, "git@gh-work:acme/app"),
      match({ sshKey: "~/.ssh/id" }, "git@alias:acme/app", { resolved }),
      match({ organizations: ["acme"] }, "git@github.com:ACME/app"),
      match({}, "git@github.com:acme/app"),
      match({}, "git@github.acme.example:acme/app"),
    ];
    assert.deepEqual(
      found.map((each) => each?.reason),
      ["rule", "ssh-host", "ssh-key", "organization", "host", "provider"],
    );
    const weights = found.map((each) => each?.weight ?? 0);
    assert.deepEqual(
      weights,
      weights.toSorted((a, b) => b - a),
    );
    assert.equal(match({ provider: "other" }, "git@other.example:acme/app"), undefined);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type IdentitySettings, resolveIdentity } from "../identity.ts";
import { matchIdentity, type DetectionTarget } from "./detect.ts";

function match(
  settings: Partial<IdentitySettings>,
  url: string,
  more: Partial<DetectionTarget> = {},
) {
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

  it("tells servers on different ports of one host apart", () => {
    const ported = { host: "git.corp:8443", organizations: ["acme"] };
    const url = "https://git.corp:8443/acme/app";
    assert.equal(match(ported, url)?.says, "has the owner 'acme' on git.corp:8443");
    assert.equal(match(ported, "https://git.corp:8443/x/app")?.reason, "host");
    assert.equal(match(ported, "https://git.corp:9443/acme/app"), undefined);
    assert.equal(match(ported, "https://git.corp/acme/app"), undefined);
    assert.equal(match(ported, "ssh://git@git.corp:2222/acme/app")?.reason, "organization");
    const rule = { match: [{ host: "git.corp:8*" }] };
    assert.equal(match(rule, url)?.reason, "rule");
    assert.equal(match(rule, "https://git.corp:9443/acme/app"), undefined);
  });

  it("prefers the identity with the port to one that has only the name of the host", () => {
    const url = "https://git.corp:8443/acme/app";
    const exact = match({ host: "git.corp:8443" }, url);
    const byName = match({ host: "git.corp", organizations: ["acme"] }, url);
    assert.ok(exact && byName && exact.weight > byName.weight);
  });
});

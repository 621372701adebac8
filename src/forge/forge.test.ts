import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { apiOf, forgeKind, newRequestPage, webHost } from "./forge.ts";

const at = (host: string, owner = "acme") =>
  ({ scheme: "https", host, owner, repository: "app" }) as const;

describe("forgeKind()", () => {
  it("prefers the configuration, then well-known hosts, then the identity with that host", () => {
    const forges = { "git.corp": "gitea", "hub.corp:8443": "github" } as const;
    const identity = { provider: "gitlab", host: "lab.corp" };
    const kinds = ["github.com", "gitlab.com", "codeberg.org", "acme.ghe.com", "git.corp:3000"];
    assert.deepEqual(
      kinds.map((host) => forgeKind(host, forges, undefined)),
      ["github", "gitlab", "gitea", "github", "gitea"],
    );
    assert.equal(forgeKind("hub.corp:8443", forges, undefined), "github");
    assert.equal(forgeKind("lab.corp", forges, identity), "gitlab");
    assert.equal(forgeKind("elsewhere.corp", forges, identity), undefined);
    assert.equal(forgeKind("x.corp", forges, { provider: "other", host: "x.corp" }), undefined);
  });
});

describe("apiOf()", () => {
  it("is a separate host for github.com, and a path of the same host for other forges", () => {
    assert.equal(apiOf("github", at("github.com")), "https://api.github.com");
    assert.equal(apiOf("github", at("acme.ghe.com")), "https://api.acme.ghe.com");
    assert.equal(apiOf("github", at("hub.corp:8443")), "https://hub.corp:8443/api/v3");
    assert.equal(apiOf("gitlab", at("gitlab.com")), "https://gitlab.com/api/v4");
    assert.equal(apiOf("gitea", at("codeberg.org")), "https://codeberg.org/api/v1");
  });
});

describe("newRequestPage()", () => {
  it("is the page to open a pull request for the branch", () => {
    const pages = {
      github: "https://x.test/acme/app/pull/new/agent/a1",
      gitlab:
        "https://x.test/acme/tools/app/-/merge_requests/new?merge_request%5Bsource_branch%5D=agent%2Fa1",
      gitea: "https://x.test/acme/app/compare/agent/a1",
    } as const;
    for (const kind of ["github", "gitlab", "gitea"] as const) {
      const owner = kind === "gitlab" ? "acme/tools" : "acme";
      assert.equal(newRequestPage(kind, at("x.test", owner), "agent/a1"), pages[kind]);
    }
  });
});

describe("webHost()", () => {
  it("maps SSH hosts without pages to their web hosts", () => {
    assert.equal(webHost("ssh.github.com"), "github.com");
    assert.equal(webHost("git.corp"), "git.corp");
  });
});

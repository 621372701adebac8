import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { apiOf, forgeKind, newRequestPage, webHost } from "./place.ts";

const at = (host: string, owner = "acme") =>
  ({ scheme: "https", host, owner, repository: "app" }) as const;

describe("forgeKind()", () => {
  it("goes by the configuration, by what everybody knows, then by the identity of that host", () => {
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
  it("is on a host of its own for GitHub's own service, and beside the pages elsewhere", () => {
    assert.equal(apiOf("github", at("github.com")), "https://api.github.com");
    assert.equal(apiOf("github", at("acme.ghe.com")), "https://api.acme.ghe.com");
    assert.equal(apiOf("github", at("hub.corp:8443")), "https://hub.corp:8443/api/v3");
    assert.equal(apiOf("gitlab", at("gitlab.com")), "https://gitlab.com/api/v4");
    assert.equal(apiOf("gitea", at("codeberg.org")), "https://codeberg.org/api/v1");
  });
});

describe("newRequestPage()", () => {
  it("is where a person opens a request for the branch", () => {
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
  it("knows the hosts for SSH that have no pages", () => {
    assert.equal(webHost("ssh.github.com"), "github.com");
    assert.equal(webHost("git.corp"), "git.corp");
  });
});

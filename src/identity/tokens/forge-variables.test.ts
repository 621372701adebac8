import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type IdentitySettings, resolveIdentity } from "../identity.ts";
import { addForgeVariables, forgeVariables, replaceForgeVariables } from "./tokens.ts";

const CASES: readonly (readonly [IdentitySettings, object])[] = [
  [{ provider: "github" }, { GH_HOST: "github.com", GH_TOKEN: "t", GITHUB_TOKEN: "t" }],
  [
    { provider: "github", host: "acme.ghe.com" },
    { GH_HOST: "acme.ghe.com", GH_TOKEN: "t", GITHUB_TOKEN: "t" },
  ],
  [
    { provider: "github", host: "git.corp:8443" },
    { GH_HOST: "git.corp:8443", GH_ENTERPRISE_TOKEN: "t", GITHUB_ENTERPRISE_TOKEN: "t" },
  ],
  [{ provider: "gitlab" }, { GITLAB_HOST: "https://gitlab.com", GITLAB_TOKEN: "t" }],
  [
    { provider: "other", host: "tea.corp" },
    { GITEA_SERVER_URL: "https://tea.corp", GITEA_SERVER_TOKEN: "t" },
  ],
  [{ provider: "bitbucket" }, {}],
  [{ provider: "other" }, {}],
];

describe("forgeVariables()", () => {
  for (const [settings, expected] of CASES) {
    it(`are those of ${settings.provider} for ${settings.host ?? "its usual host"}`, () => {
      assert.deepEqual(forgeVariables(resolveIdentity("x", settings), "t"), expected);
    });
  }
});

describe("replaceForgeVariables() and addForgeVariables()", () => {
  const own = { GITLAB_HOST: "https://gitlab.com", GITLAB_TOKEN: "t" };

  it("leave nothing of another account", () => {
    const base = { PATH: "/bin", GH_TOKEN: "other", GH_HOST: "other.corp" };
    assert.deepEqual(replaceForgeVariables(base, own), { PATH: "/bin", ...own });
    assert.deepEqual(replaceForgeVariables(base, {}), { PATH: "/bin" });
    assert.deepEqual(addForgeVariables({ GH_HOST: "x" }, own), own);
  });

  it("keep a token that somebody has given to an agent", () => {
    const base = { GH_TOKEN: "given" };
    assert.deepEqual(addForgeVariables(base, own), base);
    assert.deepEqual(addForgeVariables({ GH_HOST: "x" }, {}), { GH_HOST: "x" });
  });
});

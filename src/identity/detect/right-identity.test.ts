import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleIdentities } from "../../../test/samples/sample-identities.ts";
import { readGitContext, rightIdentity, withOnlyRemote } from "./detect.ts";

async function right(sample: SampleIdentities, url: string, env: NodeJS.ProcessEnv = {}) {
  const context = withOnlyRemote(await readGitContext(sample.git), url, "origin");
  const { identity, acting, why } = await rightIdentity(sample.identities, context, env);
  return { identity: identity?.name, acting, why };
}

/** Fits both identities equally well. */
const EITHER = "https://github.com/stranger/app";

describe("rightIdentity()", () => {
  it("chooses the active one if several match equally well, and none if there is no active one", async () => {
    using sample = new SampleIdentities();
    assert.equal((await right(sample, EITHER)).identity, undefined);
    await sample.switch("home");
    const chosen = await right(sample, EITHER);
    assert.deepEqual([chosen.identity, chosen.acting], ["home", "home"]);
    assert.match(chosen.why, /^'home' is for github\.com\.$/);
  });

  it("chooses the one that matches better than the active one", async () => {
    using sample = new SampleIdentities();
    const found = await right(sample, "https://github.com/acme/app", {
      TRUNKLINE_IDENTITY: "home",
    });
    assert.deepEqual([found.identity, found.acting], ["work", "home"]);
  });

  it("chooses the active one that a rule for agents names for the repository, and nowhere else", async () => {
    using sample = new SampleIdentities();
    const context = async (url: string) =>
      withOnlyRemote(await readGitContext(sample.git), url, "");
    const rules = [{ repositories: [{ owner: "acme" }], identity: "home" }];
    const env = { TRUNKLINE_IDENTITY: "home" };
    const chosen = async (url: string, acting: NodeJS.ProcessEnv) => {
      return (await rightIdentity(sample.identities, await context(url), acting, rules)).identity
        ?.name;
    };
    assert.equal(await chosen("https://github.com/acme/app", env), "home");
    assert.equal(await chosen("https://github.com/acme/app", {}), "work");
    assert.equal(await chosen("https://github.com/group/sub/app", env), "work");
  });

  it("trusts the environment before the repository", async () => {
    using sample = new SampleIdentities();
    await sample.switch("home");
    const found = await right(sample, EITHER, { TRUNKLINE_IDENTITY: "work" });
    assert.deepEqual([found.identity, found.acting], ["work", "work"]);
  });

  it("chooses the active one if none matches, unless it is unknown", async () => {
    using sample = new SampleIdentities();
    const env = { TRUNKLINE_IDENTITY: "home" };
    assert.equal((await right(sample, "/srv/app.git", env)).identity, "home");
    const gone = await right(sample, "/srv/app.git", { TRUNKLINE_IDENTITY: "former" });
    assert.equal(gone.identity, undefined);
    assert.match(gone.why, /no identity 'former'/);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { House } from "../house.ts";
import { serverReferences } from "./server-references.ts";

describe("serverReferences()", () => {
  it("gives the token of an identity to its own host and its API only", async () => {
    await using home = await SampleHome.create();
    const work = {
      provider: "github",
      host: "git.example.com",
      user: "ada",
      email: "ada@example.com",
      tokenSource: { kind: "environment", variable: "WORK_TOKEN" },
    };
    const none = { ...work, tokenSource: { kind: "none" } };
    await home.write(home.userFile, JSON.stringify({ identities: { work, none } }));
    const { config } = await home.load();
    const env = { HOME: home.path, WORK_TOKEN: "s3cret" };
    const { token } = serverReferences(new House(config), env);
    for (const url of ["https://git.example.com/x", "https://api.git.example.com/"]) {
      assert.equal(await token("work", new URL(url)), "s3cret");
    }
    for (const url of [
      "https://evil.example/",
      "http://git.example.com/",
      "https://git.example.com:8443/",
      "https://evil.git.example.com/",
    ]) {
      await assert.rejects(
        token("work", new URL(url)),
        /its token is for git\.example\.com, and not/,
      );
    }
    const url = new URL("https://git.example.com/");
    await assert.rejects(
      token("none", url),
      /has no token\. Set one with `trunkline identity token/,
    );
    await assert.rejects(token("nobody", url), /nobody/);
  });
});

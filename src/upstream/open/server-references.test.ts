import assert from "node:assert/strict";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { keyName } from "../../agent/models/models.ts";
import { SampleHome } from "../../../test/samples/sample-home.ts";
import { AppContext } from "../../config/app-context.ts";
import { openKeys } from "../../identity/open/open-secret-store.ts";
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
    const { token } = serverReferences(new AppContext(config), env);
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

  it("tells why secrets cannot be read, and not that there is none", async () => {
    await using home = await SampleHome.create();
    const { config } = await home.load();
    const env = { HOME: home.path, TRUNKLINE_TOKEN_STORE: "file" };
    const store = await openKeys(config.data, env)();
    await store.set(keyName("DOCS"), "s3cret");
    const { secret } = serverReferences(new AppContext(config), env);
    assert.equal(await secret("DOCS"), "s3cret");
    assert.equal(await secret("OTHER"), undefined);
    await chmod(join(config.data, "keys.enc"), 0o644);
    await assert.rejects(secret("DOCS"), /keys\.enc': other users may read it/);
  });
});

import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { HELD } from "../../base/text/mask.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { type IdentitySettings, resolveIdentity } from "../identity.ts";
import { SampleKeychain } from "../../../test/samples/sample-keychain.ts";
import { isExpired, showToken, type Tokens, openTokens } from "./tokens.ts";

const TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

function tokensIn(folder: string, keychain?: SampleKeychain, env: NodeJS.ProcessEnv = {}): Tokens {
  return openTokens({
    data: folder,
    configFolder: join(folder, "config"),
    env: { TRUNKLINE_TOKEN_KEY: "words", ...env },
    openKeychain: async () => {
      if (keychain === undefined) throw new Error("no D-Bus");
      return keychain;
    },
  });
}

function identity(more: Partial<IdentitySettings> = {}) {
  return resolveIdentity("work", { provider: "github", user: "ada", ...more });
}

describe("Tokens", () => {
  it("stores tokens in the keychain if there is one", async () => {
    await using folder = await SampleFolder.create();
    const keychain = new SampleKeychain();
    const tokens = tokensIn(folder.path, keychain);
    assert.match(await tokens.save(identity(), `${TOKEN}\n`), /^a keychain for tests$/);
    assert.deepEqual([...keychain.secrets], [["trunkline.github.work ada", TOKEN]]);
    assert.equal((await tokens.find(identity()))?.token, TOKEN);
    assert.equal(await tokens.clear(identity()), true);
    assert.equal(await tokens.find(identity()), undefined);
    assert.equal(await tokens.clear(identity()), false);
  });

  it("knows where a token is kept without asking a keychain, which may ask a person", async () => {
    await using folder = await SampleFolder.create();
    assert.equal(await tokensIn(folder.path).whereKept(identity()), undefined);
    await tokensIn(folder.path, new SampleKeychain()).save(identity(), TOKEN);
    assert.equal(await tokensIn(folder.path).whereKept(identity()), "the system's keychain");
    const elsewhere = identity({ tokenSource: { kind: "keychain", service: "other" } });
    assert.match((await tokensIn(folder.path).whereKept(elsewhere)) ?? "", /as 'other'$/);
    const variable = identity({ tokenSource: { kind: "environment", variable: "MINE" } });
    assert.equal(await tokensIn(folder.path).whereKept(variable), undefined);
    const set = tokensIn(folder.path, undefined, { MINE: TOKEN });
    assert.equal(await set.whereKept(variable), "the variable MINE");
  });

  it("stores them in an encrypted file otherwise, and says which and why", async () => {
    await using folder = await SampleFolder.create();
    const tokens = tokensIn(folder.path);
    assert.match(await tokens.save(identity(), TOKEN), /encrypted file .*no D-Bus/);
    assert.match(await tokens.describeStore(), /encrypted file .*no D-Bus/);
    assert.equal((await tokens.find(identity()))?.token, TOKEN);
    // Nothing under the data folder holds it in clear.
    for (const name of readdirSync(join(folder.path, "identity"))) {
      const text = readFileSync(join(folder.path, "identity", name), "latin1");
      assert.ok(!text.includes(TOKEN), name);
    }
  });

  it("falls back to the file if the keychain refuses a token, and finds it again", async () => {
    await using folder = await SampleFolder.create();
    const keychain = new SampleKeychain();
    keychain.isClosedToWriting = true;
    assert.match(await tokensIn(folder.path, keychain).save(identity(), TOKEN), /no collection/);
    assert.equal((await tokensIn(folder.path, keychain).find(identity()))?.token, TOKEN);
    const forced = tokensIn(folder.path, keychain, { TRUNKLINE_TOKEN_STORE: "keychain" });
    await assert.rejects(forced.save(identity(), TOKEN), /no collection/);
  });

  it("fails without a keychain that was explicitly requested", async () => {
    await using folder = await SampleFolder.create();
    const forced = tokensIn(folder.path, undefined, { TRUNKLINE_TOKEN_STORE: "keychain" });
    await assert.rejects(forced.save(identity(), TOKEN), /no D-Bus/);
    const wrong = tokensIn(folder.path, undefined, { TRUNKLINE_TOKEN_STORE: "safe" });
    await assert.rejects(wrong.find(identity()), { code: "config", message: /'safe'/ });
  });

  it("takes a token from a variable only if the identity says so", async () => {
    await using folder = await SampleFolder.create();
    const tokens = tokensIn(folder.path, undefined, { WORK_TOKEN: TOKEN });
    const named = identity({ tokenSource: { kind: "environment", variable: "WORK_TOKEN" } });
    assert.equal((await tokens.find(named))?.token, TOKEN);
    const other = tokensIn(folder.path, undefined, { WORK_TOKEN: "another-plain-token" });
    await other.find(named);
    assert.equal(HELD.mask("another-plain-token"), "•••", "it is masked from now on");
    assert.equal(await tokens.find(identity()), undefined);
    assert.equal(await tokens.find(identity({ tokenSource: { kind: "none" } })), undefined);
    await assert.rejects(tokens.save(named, TOKEN), { code: "usage", message: /WORK_TOKEN/ });
  });

  it("asks the forge's own program, without passing on a token of the environment", async () => {
    await using folder = await SampleFolder.create();
    const bin = join(folder.path, "bin");
    mkdirSync(bin, { recursive: true });
    writeFileSync(join(bin, "gh"), `#!/bin/sh\necho "$*$GH_TOKEN" | tr ' ' '_'\n`);
    chmodSync(join(bin, "gh"), 0o755);
    const env = { PATH: `${bin}:${process.env.PATH}`, GH_TOKEN: "another" };
    const tokens = tokensIn(folder.path, undefined, env);
    const named = identity({ tokenSource: { kind: "command-line" } });
    assert.equal((await tokens.find(named))?.token, "auth_token_--hostname_github.com");
    const other = identity({ provider: "other", tokenSource: { kind: "command-line" } });
    await assert.rejects(tokens.find(other), { code: "config" });
  });

  it("refuses text that cannot be a token, without printing it", async () => {
    await using folder = await SampleFolder.create();
    for (const token of ["", "  ", "short", "two words here", "x".repeat(9000), "a\0bcdefghij"]) {
      await assert.rejects(tokensIn(folder.path).save(identity(), token), (error: Error) => {
        return !error.message.includes("words") && /Cannot store/.test(error.message);
      });
    }
  });

  it("remembers when a token expires", async () => {
    await using folder = await SampleFolder.create();
    const tokens = tokensIn(folder.path);
    await tokens.save(identity(), TOKEN, { expires: "2020-01-01T00:00:00Z" });
    assert.ok(isExpired(await tokens.record(identity())));
    await tokens.note(identity(), { expires: "2999-01-01T00:00:00Z" });
    assert.ok(!isExpired(await tokens.record(identity())));
    assert.ok(isExpired({ expires: "nonsense" }));
    assert.ok(!isExpired({}));
  });

  it("loses no result of concurrent checks", async () => {
    await using folder = await SampleFolder.create();
    const facts = { expires: "2999-01-01T00:00:00Z", user: "ada", storedAt: "2026-01-01" };
    await Promise.all(
      Object.entries(facts).map(([fact, value]) =>
        tokensIn(folder.path).note(identity(), { [fact]: value }),
      ),
    );
    assert.deepEqual(await tokensIn(folder.path).record(identity()), facts);
  });
});

describe("showToken()", () => {
  it("shows four characters at each end of a long token, and nothing of a short one", () => {
    assert.equal(showToken(TOKEN), "ghp_••••••••6789");
    assert.equal(showToken("secret-password"), "••••••••");
  });
});

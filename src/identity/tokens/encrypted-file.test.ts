import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { EncryptedFile } from "./encrypted-file.ts";

const WORK = { service: "trunkline.github.work", account: "ada" };
const HOME = { service: "trunkline.github.home", account: "ada" };
const TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

function fileIn(folder: string, env: NodeJS.ProcessEnv = { TRUNKLINE_TOKEN_KEY: "words" }) {
  const keyFile = join(folder, "config/token.key");
  return new EncryptedFile(join(folder, "tokens.enc"), { env, keyFile });
}

describe("EncryptedFile", () => {
  it("returns what was stored, also to another process, and shows nothing on disk", async () => {
    await using folder = await SampleFolder.create();
    const file = fileIn(folder.path);
    assert.equal(await file.get(WORK), undefined);
    await file.set(WORK, TOKEN);
    await file.set(HOME, "another-token");
    assert.equal(await fileIn(folder.path).get(WORK), TOKEN);
    const text = readFileSync(file.path, "latin1");
    assert.ok(!text.includes(TOKEN) && !text.includes("another-token") && !text.includes("words"));
    assert.equal(statSync(file.path).mode & 0o777, 0o600);
    assert.equal(await file.remove(WORK), true);
    assert.equal(await file.remove(WORK), false);
    assert.equal(await fileIn(folder.path).get(WORK), undefined);
    assert.equal(await fileIn(folder.path).get(HOME), "another-token");
  });

  it("does not open with another passphrase, and says so", async () => {
    await using folder = await SampleFolder.create();
    await fileIn(folder.path).set(WORK, TOKEN);
    const other = fileIn(folder.path, { TRUNKLINE_TOKEN_KEY: "word" });
    await assert.rejects(other.get(WORK), { code: "unavailable", message: /the key is wrong/ });
    await assert.rejects(other.set(HOME, TOKEN), { code: "unavailable" });
    assert.equal(await fileIn(folder.path).get(HOME), undefined);
    await assert.rejects(fileIn(folder.path, {}).get(WORK), /TRUNKLINE_TOKEN_KEY/);
  });

  it("tells whether it has a token: without the passphrase too, but not with a wrong one", async () => {
    await using folder = await SampleFolder.create();
    assert.equal(await fileIn(folder.path).has(WORK), false);
    await fileIn(folder.path).set(WORK, TOKEN);
    assert.equal(await fileIn(folder.path, {}).has(WORK), true);
    assert.equal(await fileIn(folder.path, {}).has(HOME), false);
    const wrong = fileIn(folder.path, { TRUNKLINE_TOKEN_KEY: "word" });
    await assert.rejects(wrong.has(WORK), /the key is wrong/);
  });

  it("refuses a token that was moved under another name", async () => {
    await using folder = await SampleFolder.create();
    const file = fileIn(folder.path, {});
    await file.set(WORK, TOKEN);
    const moved = readFileSync(file.path, "utf8").replace("github.work", "github.home");
    writeFileSync(file.path, moved);
    await assert.rejects(fileIn(folder.path, {}).get(HOME), /tampered/);
  });

  it("creates a key if none is given, and keeps it private and in another folder", async () => {
    await using folder = await SampleFolder.create();
    await fileIn(folder.path, {}).set(WORK, TOKEN);
    const key = join(folder.path, "config/token.key");
    assert.equal(statSync(key).mode & 0o777, 0o600);
    assert.equal(await fileIn(folder.path, {}).get(WORK), TOKEN);
    // It was locked by that key; words that come later do not open it, nor get in the way.
    assert.equal(await fileIn(folder.path).get(WORK), TOKEN);
    chmodSync(key, 0o644);
    await assert.rejects(fileIn(folder.path, {}).get(WORK), { code: "untrusted" });
  });

  it("derives the key with scrypt from a passphrase, and quickly from a key of its own", async () => {
    await using folder = await SampleFolder.create();
    const derivations = [{ TRUNKLINE_TOKEN_KEY: "words" }, {}].map(async (env, at) => {
      const path = join(folder.path, `${at}.enc`);
      const file = new EncryptedFile(path, { env, keyFile: join(folder.path, "token.key") });
      await file.set(WORK, TOKEN);
      const { derivation } = JSON.parse(readFileSync(path, "utf8")) as { derivation: unknown };
      return derivation;
    });
    assert.deepEqual(await Promise.all(derivations), ["scrypt", "hkdf"]);
  });

  it("opens a file from before its own key was derived quickly, and goes on as it was", async () => {
    await using folder = await SampleFolder.create();
    const old = {
      version: 1,
      key: "generated",
      salt: "GLmPUBcAbVnL57tKxVyaqQ==",
      check: { iv: "7fJbBo35MDO3GfM3", tag: "veHn4DTGSTPguARiGzQFYg==", data: "22sUkJCFav6Z" },
      secrets: [
        {
          ...WORK,
          iv: "7bVlMlW7UvZ49uK6",
          tag: "MF6HomT6LoZcfGiypo2NxQ==",
          data: "qdaGqjgZ6JOcKeBaIfWsonXHRppSVQIEiYz/uP2bvObM32wPGIs2Fg==",
        },
      ],
    };
    mkdirSync(folder.path);
    const keyFile = join(folder.path, "token.key");
    writeFileSync(keyFile, "AkeUISVdqKBtYyMFS8e9rZZR-ko1AUlSUtcCK-84m2k\n", { mode: 0o600 });
    const path = join(folder.path, "tokens.enc");
    writeFileSync(path, JSON.stringify(old), { mode: 0o600 });
    const file = new EncryptedFile(path, { env: {}, keyFile });
    assert.equal(await file.get(WORK), TOKEN);
    await file.set(HOME, "another-token");
    const other = new EncryptedFile(path, { env: {}, keyFile });
    assert.equal(await other.get(HOME), "another-token");
    assert.equal(await other.get(WORK), TOKEN);
  });

  it("asks a person for the passphrase if there is one", async () => {
    await using folder = await SampleFolder.create();
    await fileIn(folder.path).set(WORK, TOKEN);
    const asked: string[] = [];
    const file = new EncryptedFile(join(folder.path, "tokens.enc"), {
      env: {},
      keyFile: "/nowhere",
      ask: async (question) => {
        asked.push(question);
        return "words";
      },
    });
    assert.equal(await file.get(WORK), TOKEN);
    assert.equal(asked.length, 1);
  });

  it("loses nothing when several processes write at once", async () => {
    await using folder = await SampleFolder.create();
    await fileIn(folder.path, {}).set(WORK, TOKEN);
    const names = Array.from({ length: 3 }, (_, at) => ({ service: `s${at}`, account: "a" }));
    await Promise.all(
      names.map((name) => fileIn(folder.path, {}).set(name, `token-${name.service}`)),
    );
    const file = fileIn(folder.path, {});
    assert.equal(await file.get(WORK), TOKEN);
    for (const name of names) assert.equal(await file.get(name), `token-${name.service}`);
  });

  it("reports a file that is something else", async () => {
    await using folder = await SampleFolder.create();
    const file = fileIn(folder.path);
    await file.set(WORK, TOKEN);
    writeFileSync(file.path, "{}");
    await assert.rejects(file.get(WORK), { code: "config", message: /not a token file/ });
  });
});

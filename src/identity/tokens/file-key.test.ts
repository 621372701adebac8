import assert from "node:assert/strict";
import { chmodSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { fileKey, readPrivate } from "./encrypted-file.ts";

describe("fileKey()", () => {
  it("takes the passphrase from the environment, then from a file", async () => {
    await using folder = await SampleFolder.create();
    mkdirSync(folder.path);
    const file = join(folder.path, "words");
    writeFileSync(file, "from the file\n", { mode: 0o600 });
    const named = { TRUNKLINE_TOKEN_KEY_FILE: file };
    const keyFile = join(folder.path, "key");
    const both = { env: { ...named, TRUNKLINE_TOKEN_KEY: "words" }, keyFile };
    assert.deepEqual(await fileKey(undefined, both), { kind: "passphrase", words: "words" });
    const one = await fileKey("passphrase", { env: named, keyFile });
    assert.equal(one.words, "from the file");
    writeFileSync(file, "\n");
    await assert.rejects(fileKey(undefined, { env: named, keyFile }), { code: "config" });
  });

  it("creates a random passphrase for a new file, once, readable by its owner only", async () => {
    await using folder = await SampleFolder.create();
    const keyFile = join(folder.path, "config/token.key");
    const made = await fileKey(undefined, { env: {}, keyFile });
    assert.equal(made.kind, "generated");
    assert.equal(readFileSync(keyFile, "utf8"), `${made.words}\n`);
    assert.equal(statSync(keyFile).mode & 0o777, 0o600);
    assert.deepEqual(await fileKey("generated", { env: {}, keyFile }), made);
  });

  it("creates one passphrase where several are asked for it at once", async () => {
    await using folder = await SampleFolder.create();
    const keyFile = join(folder.path, "token.key");
    const asking = Array.from({ length: 20 }, () => fileKey(undefined, { env: {}, keyFile }));
    const made = new Set((await Promise.all(asking)).map(({ words }) => words));
    assert.deepEqual([...made], [readFileSync(keyFile, "utf8").trim()]);
    assert.deepEqual(readdirSync(folder.path), ["token.key"]);
  });

  it("creates no other passphrase if that of an existing file is lost", async () => {
    await using folder = await SampleFolder.create();
    const keyFile = join(folder.path, "token.key");
    await assert.rejects(fileKey("generated", { env: {}, keyFile }), {
      code: "unavailable",
      message: /Without it the tokens are lost/,
    });
    assert.throws(() => statSync(keyFile));
  });

  it("says how to give a passphrase if nobody answers", async () => {
    const options = { env: {}, keyFile: "/nowhere", ask: async () => "" };
    await assert.rejects(fileKey("passphrase", options), /Set TRUNKLINE_TOKEN_KEY/);
  });
});

describe("readPrivate()", () => {
  it("refuses a file that others may read, and says how to protect it", async () => {
    await using folder = await SampleFolder.create();
    mkdirSync(folder.path);
    const file = join(folder.path, "key");
    writeFileSync(file, "x");
    chmodSync(file, 0o640);
    await assert.rejects(readPrivate(file), { code: "untrusted", message: /chmod 600/ });
    await assert.rejects(readPrivate(join(file, "below")), { code: "not-found" });
    chmodSync(folder.path, 0o700);
    await assert.rejects(readPrivate(folder.path), { code: "unavailable" });
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { cardWantsTouch, parseGpgKeys } from "./signing-readiness.ts";

/** As `gpg --with-colons --list-secret-keys` writes them (GnuPG, doc/DETAILS). */
const LISTING = [
  "sec:u:256:22:1111111111111111:1700000000:1800000000::u:::cESC:::+::ed25519:::0:",
  "fpr:::::::::AAAA1111111111111111:",
  "uid:u::::1700000000::HASH::Ada <ada@acme.example>::::::::::0:",
  "ssb:e:256:22:2222222222222222:1700000000::::::s:::+::ed25519::",
  "fpr:::::::::BBBB2222222222222222:",
  "ssb:u:256:22:3333333333333333:1700000000::::::s:::D2760001240103040006123456780000::ed25519::",
  "fpr:::::::::CCCC3333333333333333:",
].join("\n");

describe("parseGpgKeys()", () => {
  it("lists what each key and subkey can do, and where its secret key is", () => {
    const keys = parseGpgKeys(LISTING);
    assert.deepEqual(
      keys.map(({ fingerprint, signs, secret, trouble }) => [fingerprint, signs, secret, trouble]),
      [
        // The primary key certifies; the capital S is that of its subkeys.
        ["AAAA1111111111111111", false, "here", undefined],
        ["BBBB2222222222222222", true, "here", "expired"],
        ["CCCC3333333333333333", true, "device", undefined],
      ],
    );
    assert.equal(keys[2]?.device, "D2760001240103040006123456780000");
  });

  it("recognises a key without its secret, and returns nothing for empty output", () => {
    const [key] = parseGpgKeys("ssb:r:255:22:AB:1::::::s:::#::::\nfpr:::::::::AB:\n");
    assert.deepEqual([key?.secret, key?.trouble, key?.isValid], ["missing", "revoked", false]);
    assert.deepEqual(parseGpgKeys("gpg: error\nfpr:::::::::AB:\n"), []);
  });
});

describe("cardWantsTouch()", () => {
  it("uses the first value, which is for signing; a card may not report one", () => {
    assert.equal(cardWantsTouch("Reader:x:\nuif:1:0:0:\n"), true);
    assert.equal(cardWantsTouch("uif:0:1:1:\n"), false);
    assert.equal(cardWantsTouch("uif:off:on:on:\n"), false);
    assert.equal(cardWantsTouch("Reader:x:\n"), undefined);
    assert.equal(cardWantsTouch("uif:::\n"), undefined);
  });
});

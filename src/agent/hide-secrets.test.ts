import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { hideSecrets } from "./hide-secrets.ts";

const TOKEN = `ghp_${"a1".repeat(18)}`;

describe("hideSecrets()", () => {
  it("hides text that looks like a secret, and leaves the rest unchanged", () => {
    assert.equal(hideSecrets(`a ${TOKEN} b\n\tc  \n`), "a ••• b\n\tc  \n");
  });

  it("hides all lines of a private key", () => {
    const key = "-----BEGIN PRIVATE KEY-----\nabc\ndef\n-----END PRIVATE KEY-----";
    assert.equal(hideSecrets(`x\n${key}\ny`), "x\n•••\ny");
  });

  it("hides our own keys, whatever they look like", () => {
    assert.equal(hideSecrets("is it plain-old-key?", ["plain-old-key"]), "is it •••?");
  });

  it("does not cut a long text", () => {
    const long = `${"word ".repeat(3_000)}${TOKEN} ${"x".repeat(9_000)}`;
    const shown = hideSecrets(long);
    assert.equal(shown.length, long.length - TOKEN.length + 3);
    assert.doesNotMatch(shown, /ghp_/);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { credentialText, parseCredential } from "./credential-helper.ts";

describe("parseCredential()", () => {
  it("reads lines up to the first empty one, including values that contain =", () => {
    const text =
      "protocol=https\nhost=GitHub.com:8443\npath=a=b/c\nnonsense\n=x\n\nusername=late\n";
    assert.deepEqual(parseCredential(text), {
      protocol: "https",
      host: "github.com:8443",
      path: "a=b/c",
      username: undefined,
      password: undefined,
    });
  });

  it("refuses more than git ever writes", () => {
    const text = `path=${"x".repeat(64 * 1024)}\n\n`;
    assert.throws(() => parseCredential(text), { code: "limit" });
  });
});

describe("credentialText()", () => {
  it("gives the expiry of the password in seconds, if it is a valid time", () => {
    const text = credentialText("ada", "secret", "2030-01-01T00:00:00.500Z");
    assert.equal(text, "username=ada\npassword=secret\npassword_expiry_utc=1893456000\n");
    assert.equal(credentialText("ada", "s", "nonsense"), "username=ada\npassword=s\n");
    assert.equal(credentialText("ada", "s", undefined), "username=ada\npassword=s\n");
  });
});

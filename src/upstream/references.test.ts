import assert from "node:assert/strict";
import { homedir } from "node:os";
import { describe, it } from "node:test";

import { HELD } from "../base/text/mask.ts";
import { type References, secretNames, withReferences } from "./references.ts";

const KNOWN: References = {
  env: { TOKEN: "t", EMPTY: "", HOST: "a.example" },
  secret: async (name) => (name === "mine" ? "s" : undefined),
  token: async (name, { origin }) => `${name} at ${origin}`,
};

describe("withReferences()", () => {
  it("puts in variables and secrets, in arguments and the environment", async () => {
    const settings = {
      command: "${TOKEN}",
      args: ["--key=${env:TOKEN}", "${EMPTY:-none}", "${cmd: date}", "$TOKEN", "${userHome}/x"],
      env: { A: "${keychain:mine}${input:mine}", B: "plain" },
    };
    assert.deepEqual(await withReferences(settings, KNOWN), {
      command: "${TOKEN}",
      args: ["--key=t", "none", "${cmd: date}", "$TOKEN", `${homedir()}/x`],
      env: { A: "ss", B: "plain" },
    });
  });

  it("puts them in an address and its headers", async () => {
    const settings = { url: "https://${HOST}/mcp", headers: { authorization: "Bearer ${TOKEN}" } };
    assert.deepEqual(await withReferences(settings, KNOWN), {
      url: "https://a.example/mcp",
      headers: { authorization: "Bearer t" },
    });
  });

  it("has what it has found masked from then on", async () => {
    const known = { ...KNOWN, secret: async () => "from-the-keychain", env: { X: "from-the-env" } };
    const settings = {
      url: "https://a.example",
      headers: { "X-Other": "${keychain:mine}", "X-Api-Key": "a ${X}" },
    };
    await withReferences(settings, known);
    assert.equal(HELD.mask("from-the-keychain"), "•••");
    assert.equal(HELD.mask("a from-the-env"), "•••");
  });

  it("puts the token of an identity where an address is known that it goes to", async () => {
    const auth = { key: "${identity:work}" };
    const api = { openapi: "./api.json", url: "https://${HOST}/v1", auth };
    const found = await withReferences(api, KNOWN);
    assert.deepEqual("auth" in found && found.auth, { key: "work at https://a.example" });
    const web = await withReferences({ openapi: "https://b.example/api.json", auth }, KNOWN);
    assert.deepEqual("auth" in web && web.auth, { key: "work at https://b.example" });
    for (const settings of [
      { openapi: "./api.json", auth },
      { command: "x", env: { KEY: "${identity:work}" } },
      { url: "https://${identity:work}.example" },
    ]) {
      await assert.rejects(withReferences(settings, KNOWN), /the token of identity 'work', but/);
    }
  });

  it("does not read a value for references again", async () => {
    const env = { A: "${B}", B: "secret" };
    const settings = { command: "x", args: ["${A}"] };
    assert.deepEqual(await withReferences(settings, { ...KNOWN, env }), {
      command: "x",
      args: ["${B}"],
      env: {},
    });
  });

  it("says what is missing, and how to store it", async () => {
    const failing = [
      [{ command: "x", env: { A: "${NONE}" } }, /'env\.A' refers to \$\{NONE\}.*NONE is not set/],
      [{ command: "x", args: ["${keychain:k}"] }, /'args' .*trunkline model key set k/],
      [{ url: "${TOKEN}" }, /'url' is not the address of a web server/],
    ] as const;
    for (const [settings, says] of failing) {
      await assert.rejects(withReferences(settings, KNOWN), says);
    }
  });
});

describe("secretNames()", () => {
  it("finds what settings refer to, wherever it is, and no variables", () => {
    const servers = {
      a: { command: "${A}", args: ["${input:one}", "${env:B}"], env: { C: "x${keychain:two}y" } },
      b: {
        url: "https://${keychain:three:-none}.example",
        oauth: { clientSecret: "${input:one}" },
      },
    };
    assert.deepEqual(secretNames([servers, undefined]), ["one", "two", "three"]);
    assert.deepEqual(secretNames(undefined), []);
  });
});

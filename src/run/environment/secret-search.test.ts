import assert from "node:assert/strict";
import { mkdirSync, mkdtempDisposableSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SecretSearch } from "./environments.ts";

const VALUE = 'npm "token"/of+mine?';
const search = new SecretSearch({ NPM_TOKEN: VALUE });

describe("SecretSearch", () => {
  it("finds a secret in plain and encoded form, and names the file and the secret", async () => {
    using home = mkdtempDisposableSync(join(tmpdir(), "secrets-"));
    const forms = [
      VALUE,
      encodeURIComponent(VALUE),
      JSON.stringify({ token: VALUE }),
      Buffer.from(VALUE).toString("hex"),
      ...["", "a", "ab", "user:"].map((before) =>
        Buffer.from(`${before}${VALUE}after`).toString("base64"),
      ),
    ];
    for (const [index, form] of forms.entries()) {
      mkdirSync(join(home.path, `${index}`));
      writeFileSync(join(home.path, `${index}/.npmrc`), `before ${form} after`);
    }
    const findings = await search.findIn(home.path);
    const paths = forms.map((_, index) => ({ path: `${index}/.npmrc`, secret: "NPM_TOKEN" }));
    assert.deepEqual(
      findings
        .map(({ path, secret }) => ({ path, secret }))
        .toSorted((one, other) => (one.path < other.path ? -1 : 1)),
      paths,
    );
  });

  it("finds it across the chunks of a large file", async () => {
    using home = mkdtempDisposableSync(join(tmpdir(), "secrets-"));
    for (const before of [1024 * 1024 - 3, 3 * 1024 * 1024 - 1, 1024 * 1024 + 40]) {
      writeFileSync(join(home.path, "large"), `${" ".repeat(before)}${VALUE}`);
      assert.equal((await search.findIn(home.path)).length, 1, String(before));
    }
    writeFileSync(join(home.path, "large"), `${" ".repeat(4 * 1024 * 1024)}${VALUE.slice(1)}`);
    assert.deepEqual(await search.findIn(home.path), []);
  });

  it("searches names and targets of links, and follows no link", async () => {
    using home = mkdtempDisposableSync(join(tmpdir(), "secrets-"));
    const plain = new SecretSearch({ KEY: "0123456789" });
    symlinkSync("/nowhere/0123456789", join(home.path, "link"));
    symlinkSync("/", join(home.path, "root"));
    mkdirSync(join(home.path, "sub"));
    writeFileSync(join(home.path, "sub/cache-0123456789"), "");
    const found = (await plain.findIn(home.path)).map(({ path }) => path);
    assert.deepEqual(found.toSorted(), ["link", "sub/cache-0123456789"]);
  });

  it("searches files whose names are not UTF-8", async () => {
    using home = mkdtempDisposableSync(join(tmpdir(), "secrets-"));
    const name = Buffer.concat([Buffer.from(`${home.path}/caf`), Buffer.from([0xe9])]);
    writeFileSync(name, VALUE);
    assert.equal((await search.findIn(home.path)).length, 1);
  });

  it("refuses a value that is too short", () => {
    assert.throws(() => new SecretSearch({ PIN: "1234" }), /Cannot use the secret 'PIN'/);
  });
});

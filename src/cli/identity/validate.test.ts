import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

const work = { provider: "github", user: "ada", email: "ada@acme.test" };

describe("trunkline identity validate", () => {
  it("fails for a missing key, also offline, and names the check", async () => {
    const broken = { ...work, sshKey: "~/.ssh/id_missing" };
    await using line = await SampleCommandLine.create({ identities: { broken } });
    const { code, out } = await line.run("identity", "validate", "--offline");
    assert.equal(code, 1);
    assert.match(out, /^broken\n(?: {2}.*\n)* {2}FAIL .*id_missing/m);
  });

  it("says that there are no identities, without failing", async () => {
    await using line = await SampleCommandLine.create();
    const { code, err } = await line.run("identity", "validate", "--offline");
    assert.equal(code, 0);
    assert.match(err, /^There are no identities\./);
  });
});

describe("trunkline identity gpg", () => {
  it("reports an identity that does not sign", async () => {
    await using line = await SampleCommandLine.create({ identities: { work } });
    const { out } = await line.run("identity", "gpg", "work");
    assert.match(out, /Signing +no commit signing\n/);
    assert.match(out, /Hardware key +no\n/);
  });

  it("exits with 1 if the key is missing, and says what to do next", async () => {
    const signing = { format: "ssh", key: "~/.ssh/missing.pub" };
    await using line = await SampleCommandLine.create({
      identities: { work: { ...work, signing } },
    });
    const { code, out } = await line.run("identity", "gpg", "work");
    assert.equal(code, 1);
    assert.match(out, /Can sign now +no\n/);
    assert.match(out, /Next step +\S/);
  });
});

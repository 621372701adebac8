import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

const identities = { work: { provider: "github", user: "ada", email: "ada@acme.test" } };
const SECRET = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";

async function setUp(): Promise<SampleCommandLine> {
  const line = await SampleCommandLine.create({ identities });
  line.env.WORK_TOKEN = SECRET;
  return line;
}

const set = (line: SampleCommandLine, ...args: string[]) =>
  line.run("identity", "token", "set", "work", "--no-verify", ...args);

describe("trunkline identity token", () => {
  it("stores a token, shows it masked, and deletes it", async () => {
    await using line = await setUp();
    const stored = await set(line, "--from-env", "WORK_TOKEN");
    assert.equal(stored.code, 0, stored.err);
    assert.match(stored.out, /^Stored .+ for 'work' in /);
    const shown = await line.run("identity", "token", "get", "work");
    assert.equal(shown.code, 0);
    assert.match(shown.err, /^It is stored in /);
    for (const { out, err } of [stored, shown]) assert.doesNotMatch(out + err, new RegExp(SECRET));
    const cleared = await line.run("identity", "token", "clear", "work");
    assert.equal(cleared.out, "Deleted the token of 'work'.\n");
    const gone = await line.run("identity", "token", "get", "work");
    assert.deepEqual(gone, { code: 1, out: "", err: "No token is stored for 'work'.\n" });
    const again = await line.run("identity", "token", "clear", "work");
    assert.equal(again.out, "No token was stored.\n");
  });

  it("says that there are no identities to verify", async () => {
    await using line = await SampleCommandLine.create();
    const { code, err } = await line.run("identity", "token", "verify");
    assert.equal(code, 0);
    assert.match(err, /^There are no identities\./);
  });

  it("refuses a variable that is not set or empty", async () => {
    await using line = await setUp();
    line.env.EMPTY = "";
    for (const variable of ["EMPTY", "MISSING"]) {
      const { code, err } = await set(line, "--from-env", variable);
      assert.equal(code, 2);
      assert.ok(err.includes(`Cannot read the token: the variable '${variable}' is not set`), err);
    }
  });

  for (const date of ["tomorrow", "2027-13-01", "31.1.2027", "1"]) {
    it(`refuses '${date}' as the date on which a token expires`, async () => {
      await using line = await setUp();
      const { code, err } = await set(line, "--from-env", "WORK_TOKEN", "--expires", date);
      assert.equal(code, 2);
      assert.match(err, /as a date: write it as 2027-01-31/);
    });
  }

  it("fails for an identity that is not configured", async () => {
    await using line = await setUp();
    const { code, err } = await line.run("identity", "token", "get", "wrok");
    assert.equal(code, 1);
    assert.match(err, /'wrok'/);
  });
});

describe("trunkline identity credential", () => {
  it("ignores unknown operations, as gitcredentials(7) requires", async () => {
    await using line = await setUp();
    const ran = await line.run("identity", "credential", "capability");
    assert.deepEqual(ran, { code: 0, out: "", err: "" });
  });
});

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

const TOKEN = "ghp_0123456789abcdefghijABCDEFGHIJ456789";
const WORK = {
  provider: "github",
  user: "ada",
  email: "ada@acme.test",
  tokenSource: { kind: "environment", variable: "WORK_TOKEN" },
};
const LAB = {
  provider: "gitlab",
  user: "ada",
  email: "ada@lab.test",
  tokenSource: { kind: "none" },
};

async function setUp(): Promise<SampleCommandLine> {
  const line = await SampleCommandLine.create({ identities: { work: WORK, lab: LAB } });
  Object.assign(line.env, { WORK_TOKEN: TOKEN, GITHUB_TOKEN: "of-another-account" });
  return line;
}

describe("trunkline identity exec", () => {
  it("gives a command the author and the token of an identity, and no other token", async () => {
    await using line = await setUp();
    const print = 'printf "%s," "$GIT_AUTHOR_EMAIL" "$GH_HOST" "$GH_TOKEN" "$GITHUB_TOKEN" > "$0"';
    const run = async (name: string) => {
      const file = join(line.home.path, name);
      const ran = await line.run("identity", "exec", name, "--", "sh", "-c", print, file);
      assert.deepEqual(ran, { code: 0, out: "", err: "" });
      return readFileSync(file, "utf8");
    };
    assert.equal(await run("work"), `ada@acme.test,github.com,${TOKEN},${TOKEN},`);
    assert.equal(await run("lab"), "ada@lab.test,,,,");
    assert.equal(process.env.GH_HOST, undefined);
  });

  it("ends as the command does", async () => {
    await using line = await setUp();
    const exec = async (...words: string[]) => {
      return (await line.run("identity", "exec", "work", "--", ...words)).code;
    };
    assert.equal(await exec("sh", "-c", "exit 42"), 42);
    assert.equal(await exec("sh", "-c", "kill -TERM $$"), 128 + 15);
  });

  it("refuses a command or an identity that does not exist, in plain words", async () => {
    await using line = await setUp();
    const missing = await line.run("identity", "exec", "work", "--", "no-such-program");
    assert.notEqual(missing.code, 0);
    assert.match(missing.err, /Cannot run 'no-such-program': there is no such program/);
    const unknown = await line.run("identity", "exec", "wrok", "--", "true");
    assert.match(unknown.err, /no identity 'wrok'\. Did you mean 'work'\?/);
    const nothing = await line.run("identity", "exec", "work");
    assert.equal(nothing.code, 2);
  });
});

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

const URL = "wss://trunkline.example.com/acp";

async function setUp(): Promise<{ line: SampleCommandLine; file: string } & AsyncDisposable> {
  const line = await SampleCommandLine.create();
  line.env.TRUNKLINE_TOKEN = "secret";
  const file = join(line.home.path, ".jetbrains/acp.json");
  return { line, file, [Symbol.asyncDispose]: () => line[Symbol.asyncDispose]() };
}

describe("trunkline setup jetbrains", () => {
  it("adds a server beside what is there, and removes it again", async () => {
    await using home = await setUp();
    const { line, file } = home;
    const own =
      '{\n  // mine\n  "remote": {\n    "Other": { "url": "wss://other.example" }\n  }\n}\n';
    await line.home.write(file, own);
    const added = await line.run("setup", "jetbrains", "--remote", URL);
    assert.deepEqual(added, { code: 0, out: `Wrote 'Trunkline' in ${file}.\n`, err: "" });
    const text = readFileSync(file, "utf8");
    assert.match(text, /\/\/ mine/);
    assert.match(text, /"Other"/);
    assert.match(text, /"url": "wss:\/\/trunkline\.example\.com\/acp"/);
    assert.match(text, /"token": "secret"/);
    assert.match((await line.run("setup", "jetbrains", "--remote", URL)).out, /^Nothing to change/);
    assert.equal((await line.run("setup", "jetbrains", "--remove")).code, 0);
    assert.deepEqual(readFileSync(file, "utf8").match(/"Trunkline"/), null);
    assert.match(readFileSync(file, "utf8"), /"Other"/);
  });

  it("never prints the token", async () => {
    await using home = await setUp();
    const { out } = await home.line.run("setup", "jetbrains", "--remote", URL, "--json");
    assert.deepEqual(JSON.parse(out), { file: home.file, isChanged: true });
  });

  it("changes nothing where there is nothing to remove", async () => {
    await using home = await setUp();
    const { code, out } = await home.line.run("setup", "jetbrains", "--remove", "--json");
    assert.deepEqual([code, JSON.parse(out)], [0, { file: home.file, isChanged: false }]);
  });

  for (const remote of ["https://example.com", "example.com/acp", ""]) {
    it(`refuses '${remote}' as the address of a server`, async () => {
      await using home = await setUp();
      const { code, err } = await home.line.run("setup", "jetbrains", `--remote=${remote}`);
      assert.equal(code, 2);
      assert.match(err, /wss:\/\/trunkline\.example\.com\/acp/);
    });
  }
});

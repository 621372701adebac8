import assert from "node:assert/strict";
import { lstatSync, mkdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../test/samples/sample-command-line.ts";
import { covers } from "../../test/support/requirement.ts";

const URL = "wss://trunkline.example.com/acp";

async function setUp(): Promise<{ line: SampleCommandLine; file: string } & AsyncDisposable> {
  const line = await SampleCommandLine.create();
  line.env.TRUNKLINE_TOKEN = "secret";
  const file = join(line.home.path, ".jetbrains/acp.json");
  return { line, file, [Symbol.asyncDispose]: () => line[Symbol.asyncDispose]() };
}

describe("trunkline setup jetbrains", () => {
  it("adds a server to the existing file, and removes it again", async () => {
    covers("run.config.url", "run.config.token", "run.config.others");
    await using home = await setUp();
    const { line, file } = home;
    const own =
      '{\n  "agent_servers": { "Local": { "command": "node" } },\n  // mine\n  "remote": {\n    "Other": { "url": "wss://other.example" }\n  }\n}\n';
    await line.home.write(file, own);
    const added = await line.run("setup", "jetbrains", "--remote", URL);
    const out = `Wrote 'Trunkline' in ${file}.\nThe file as it was: ${file}.trunkline-backup\n`;
    assert.deepEqual(added, { code: 0, out, err: "" });
    const text = readFileSync(file, "utf8");
    assert.match(text, /\/\/ mine/);
    assert.match(text, /"Other"/);
    assert.match(text, /"Local"/);
    assert.match(text, /"url": "wss:\/\/trunkline\.example\.com\/acp"/);
    assert.match(text, /"token": "secret"/);
    assert.match((await line.run("setup", "jetbrains", "--remote", URL)).out, /^Nothing to change/);
    assert.equal((await line.run("setup", "jetbrains", "--remove")).code, 0);
    assert.equal(readFileSync(file, "utf8"), own);
  });

  for (const broken of ['{ "remote": ', "[]", "not JSON"]) {
    it(`does not change a file that contains '${broken}'`, async () => {
      await using home = await setUp();
      const { line, file } = home;
      await line.home.write(file, broken);
      for (const option of [["--remote", URL], ["--remove"]]) {
        const { code, err } = await line.run("setup", "jetbrains", ...option);
        assert.equal(code, 1);
        assert.match(err, /it is not a JSON object/);
        assert.equal(readFileSync(file, "utf8"), broken);
      }
    });
  }

  it("keeps the token of a server that is set up again, and gives it to no other", async () => {
    await using home = await setUp();
    const { line, file } = home;
    await line.run("setup", "jetbrains", "--remote", URL);
    line.env.TRUNKLINE_TOKEN = "";
    assert.match((await line.run("setup", "jetbrains", "--remote", URL)).out, /^Nothing to change/);
    const other = await line.run("setup", "jetbrains", "--remote", "wss://other.example");
    assert.match(other.out, /It has no token yet/);
    assert.match(readFileSync(file, "utf8"), /"url": "wss:\/\/other\.example\/acp"/);
    assert.doesNotMatch(readFileSync(file, "utf8"), /secret/);
  });

  it("writes to the file that a link leads to", async () => {
    await using home = await setUp();
    const { line, file } = home;
    const kept = join(line.home.path, "dotfiles/acp.json");
    await line.home.write(kept, "{}\n");
    mkdirSync(dirname(file), { recursive: true });
    symlinkSync(kept, file);
    assert.equal((await line.run("setup", "jetbrains", "--remote", URL)).code, 0);
    assert.ok(lstatSync(file).isSymbolicLink());
    assert.match(readFileSync(kept, "utf8"), /"token": "secret"/);
    assert.equal(statSync(kept).mode & 0o777, 0o600);
  });

  it("never prints the token", async () => {
    await using home = await setUp();
    const { out } = await home.line.run("setup", "jetbrains", "--remote", URL, "--json");
    assert.deepEqual(JSON.parse(out), { file: home.file, isChanged: true });
  });

  it("changes nothing if there is nothing to remove", async () => {
    await using home = await setUp();
    const { code, out } = await home.line.run("setup", "jetbrains", "--remove", "--json");
    assert.deepEqual([code, JSON.parse(out)], [0, { file: home.file, isChanged: false }]);
  });

  for (const remote of ["https://example.com", "example.com/acp", " "]) {
    it(`refuses '${remote}' as the address of a server`, async () => {
      await using home = await setUp();
      const { code, err } = await home.line.run("setup", "jetbrains", `--remote=${remote}`);
      assert.equal(code, 2);
      assert.match(err, /wss:\/\/(?:trunkline\.)?example\.com\/acp/);
    });
  }
});

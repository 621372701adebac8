import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../test/samples/sample-command-line.ts";

describe("trunkline setup lazygit", () => {
  it("adds the commands once to the existing file, and removes them again", async () => {
    await using line = await SampleCommandLine.create();
    const file = join(line.home.project, ".git/lazygit.yml");
    const own = "gui:\n  language: en # mine\n";
    await line.home.write(file, own);
    const added = await line.run("setup", "lazygit");
    assert.match(added.out, /^Added the commands to .*lazygit\.yml\.\nIn lazygit: Y comments/);
    assert.match(readFileSync(file, "utf8"), /language: en # mine[\s\S]*trunkline/);
    assert.match((await line.run("setup", "lazygit")).out, /^Nothing to change in /);
    const removed = await line.run("setup", "lazygit", "--remove");
    assert.match(removed.out, /^Removed the commands from /);
    assert.equal(readFileSync(file, "utf8"), own);
  });

  it("changes the user's own configuration with --user, and refuses --repo with it", async () => {
    await using line = await SampleCommandLine.create();
    const { file } = await line.json<{ file: string }>("setup", "lazygit", "--user");
    assert.ok(file.startsWith(join(line.home.path, ".config")), file);
    const both = await line.run("setup", "lazygit", "--user", "--repo", ".");
    assert.equal(both.code, 2);
    assert.match(both.err, /Cannot use both --user and --repo/);
  });
});

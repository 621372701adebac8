import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

/** RemoteJuggler's config.json, as far as its document shows it. */
const JUGGLER = {
  identities: {
    work: { provider: "github", user: "ada", email: "ada@acme.test" },
    home: { provider: "gitlab", user: "ada", email: "ada@home.test" },
  },
};

async function setUp(config: object = {}): Promise<SampleCommandLine> {
  const line = await SampleCommandLine.create(config);
  await line.home.write(join(line.home.project, "config.json"), JSON.stringify(JUGGLER));
  return line;
}

describe("trunkline identity import", () => {
  it("imports all identities", async () => {
    await using line = await setUp();
    const { code, out } = await line.run("identity", "import", "config.json");
    assert.deepEqual([code, out], [0, "Imported work, home.\n"]);
    const { out: listed } = await line.run("identity", "list", "--json");
    const { identities } = JSON.parse(listed) as { identities: { name: string; email: string }[] };
    assert.deepEqual(
      identities.map(({ name, email }) => [name, email]),
      [
        ["work", "ada@acme.test"],
        ["home", "ada@home.test"],
      ],
    );
  });

  it("changes nothing with --dry-run", async () => {
    await using line = await setUp();
    const before = readFileSync(line.home.userFile, "utf8");
    const { out } = await line.run("identity", "import", "config.json", "--dry-run");
    assert.equal(out, "Would import work, home.\n");
    assert.equal(readFileSync(line.home.userFile, "utf8"), before);
  });

  it("replaces identities of the same name only with --force", async () => {
    const old = { provider: "github", user: "ada", email: "old@acme.test" };
    await using line = await setUp({ identities: { work: old } });
    const refused = await line.run("identity", "import", "config.json");
    assert.equal(refused.code, 2);
    assert.match(refused.err, /these identities exist already: work\. Replace them with --force/);
    assert.equal((await line.run("identity", "import", "config.json", "--force")).code, 0);
    assert.match(readFileSync(line.home.userFile, "utf8"), /ada@acme\.test/);
  });

  it("says that there is no such file", async () => {
    await using line = await setUp();
    const { code, err } = await line.run("identity", "import", "nowhere.json");
    assert.equal(code, 1);
    assert.match(err, /Cannot read '.*nowhere\.json': no such file/);
  });
});

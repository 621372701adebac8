import assert from "node:assert/strict";
import { lstat, readdir, readFile, stat, symlink } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { SampleHome } from "../../../test/samples/sample-home.ts";
import { editConfigFile } from "./edit-file.ts";

const ADA = { provider: "github", user: "ada", email: "ada@example.com" };

function edit(home: SampleHome, name: string, value: unknown): Promise<unknown> {
  return editConfigFile(home.userFile, [{ path: ["identities", name], value }], {
    env: { HOME: home.path },
    data: home.data,
  });
}

describe("editConfigFile()", () => {
  it("creates the file if there is none, readable by its owner only", async () => {
    await using home = await SampleHome.create();
    await edit(home, "work", ADA);
    assert.deepEqual((await home.load()).config.identities, { work: ADA });
    assert.equal((await stat(home.userFile)).mode & 0o777, 0o600);
    assert.deepEqual(await readdir(dirname(home.userFile)), ["config.jsonc"]);
  });

  it("keeps comments, order and layout", async () => {
    await using home = await SampleHome.create();
    const text = [
      "// mine",
      "{",
      '\t"serve": { "port": 1 }, // a port',
      '\t"identities": {',
      "\t\t// the old one",
      '\t\t"old": { "provider": "gitlab" },',
      "\t},",
      '\t"log": {"level": "warn"}',
      "}",
      "// the end",
    ].join("\r\n");
    await home.write(home.userFile, text);
    await edit(home, "work", { provider: "github" });
    const added = await readFile(home.userFile, "utf8");
    for (const line of text.split("\r\n")) assert.ok(added.includes(line), line);
    assert.doesNotMatch(added, /[^\r]\n/);
    assert.match(added, /\t\t"work": \{/);
    await edit(home, "work", undefined);
    const { identities } = (await home.load()).config;
    assert.deepEqual(identities, { old: { provider: "gitlab" } });
  });

  it("keeps a byte order mark and a link", async () => {
    await using home = await SampleHome.create();
    const real = join(home.path, "dotfiles/trunkline.jsonc");
    await home.write(real, "\ufeff{}");
    await home.write(join(dirname(home.userFile), "x"), "");
    await symlink(real, home.userFile);
    await edit(home, "work", ADA);
    assert.ok((await lstat(home.userFile)).isSymbolicLink());
    assert.match(await readFile(real, "utf8"), /^\ufeff\{/);
    assert.deepEqual((await home.load()).config.identities, { work: ADA });
  });

  it("says which file has no room on its disk, and leaves nothing half-written", async () => {
    await using home = await SampleHome.create();
    await edit(home, "work", ADA);
    const before = await readFile(home.userFile, "utf8");
    for (const folder of [join(home.data, "config-backups"), dirname(home.userFile)]) {
      using disk = new DiskFaults(folder);
      disk.decide = ({ operation }) => (operation === "writeFile" ? "torn" : undefined);
      const message = new RegExp(`^Cannot \\w+ '${folder}/.*Free some space on its disk`);
      await assert.rejects(edit(home, "play", ADA), { message });
    }
    assert.equal(await readFile(home.userFile, "utf8"), before);
    assert.deepEqual(await readdir(dirname(home.userFile)), ["config.jsonc"]);
    // The backup of the attempt that failed after it.
    const kept = await readdir(join(home.data, "config-backups"));
    assert.deepEqual(
      kept.map((name) => name.endsWith("-config.jsonc")),
      [true],
    );
  });

  it("writes nothing that would be invalid, and does not overwrite an invalid file", async () => {
    await using home = await SampleHome.create();
    await edit(home, "work", ADA);
    const before = await readFile(home.userFile, "utf8");
    await assert.rejects(edit(home, "work", { ...ADA, provider: "sourcehut" }), {
      code: "config",
    });
    await assert.rejects(edit(home, "x", { ...ADA, signing: { format: "gpg" } }), /openpgp/);
    assert.equal(await readFile(home.userFile, "utf8"), before);
    await home.write(home.userFile, "{ broken");
    await assert.rejects(edit(home, "work", ADA), { code: "config" });
    assert.equal(await readFile(home.userFile, "utf8"), "{ broken");
  });

  it("loses no concurrent change", async () => {
    await using home = await SampleHome.create();
    const names = ["a", "b", "c", "d"];
    await Promise.all(names.map((name) => edit(home, name, ADA)));
    const { identities } = (await home.load()).config;
    assert.deepEqual(Object.keys(identities).toSorted(), names);
  });

  it("refuses to change a project's file", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, JSON.stringify({ identities: { evil: ADA } }));
    const { config, warnings } = await home.load();
    assert.deepEqual(config.identities, {});
    assert.match(warnings.join(), /'identities' is ignored: a project file cannot set it/);
  });
});

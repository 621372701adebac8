import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { triedPlugin } from "./tried-plugin.ts";

async function open(manifest: object) {
  const home = await mkdtempDisposable(join(tmpdir(), "trunkline-tried-"));
  const file = join(home.path, "plugin.mjs");
  await writeFile(file, `console.log(${JSON.stringify(JSON.stringify(manifest))})`);
  return { file, cwd: home.path, [Symbol.asyncDispose]: () => home.remove() };
}

describe("triedPlugin()", () => {
  it("limits a plugin to what it declares", async () => {
    const permissions = { read: ["/etc/motd"] };
    await using rig = await open({ id: "tools.p", needs_tools: ["greet"], permissions });
    const { settings, note } = await triedPlugin(["plugin.mjs", "--fast"], rig.cwd, undefined);
    assert.deepEqual(settings.permissions, { tools: ["greet"], ...permissions });
    assert.deepEqual(
      [settings.id, settings.module, settings.args],
      ["tools.p", rig.file, ["--fast"]],
    );
    assert.equal(note, "it may do only what it declares: call 'greet', read /etc/motd");
  });

  it("says that one which declares nothing has all rights, and one that asks for nothing has none", async () => {
    await using all = await open({ id: "tools.p" });
    const { settings, note } = await triedPlugin(["plugin.mjs"], all.cwd, undefined);
    assert.deepEqual([settings.permissions, settings.module], [undefined, all.file]);
    assert.equal(note, "it declares no permissions, and runs with all of yours");
    await using nothing = await open({ id: "tools.p", permissions: {} });
    const limited = await triedPlugin(["plugin.mjs"], nothing.cwd, undefined);
    assert.deepEqual(limited.settings.permissions, {});
    assert.match(limited.note, /only what it declares: nothing outside its package$/);
  });

  it("does not ask a program whose id is given, and says so", async () => {
    await using rig = await open({ id: "tools.p", permissions: {} });
    const { settings, note } = await triedPlugin(["plugin.mjs", "a"], rig.cwd, "mine");
    assert.deepEqual([settings.id, settings.permissions], ["mine", undefined]);
    assert.deepEqual([settings.module, settings.args], [undefined, [rig.file, "a"]]);
    assert.match(note, /because of --id/);
  });
});

import assert from "node:assert/strict";
import { chmod, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { defaultConfig } from "../../config/config.ts";
import { triedPlugin } from "./approve.ts";

const limits = { state: "ok", says: "in force" } as const;

async function open(manifest: object) {
  const home = await mkdtempDisposable(join(tmpdir(), "trunkline-tried-"));
  const at = (name: string): string => join(home.path, name);
  for (const name of ["plugin.mjs", "program"]) await writeFile(at(name), "");
  await chmod(at("program"), 0o755);
  await writeFile(at("trunkline.plugin.json"), JSON.stringify(manifest));
  const options = { cwd: home.path, config: defaultConfig(at("data")), limits };
  const tried = (words: readonly string[], consent = {}) =>
    triedPlugin(words, { ...options, consent });
  return { file: at("plugin.mjs"), tried, [Symbol.asyncDispose]: () => home.remove() };
}

describe("triedPlugin()", () => {
  it("limits a plugin to what it declares", async () => {
    const permissions = { read: ["/etc/motd"] };
    await using rig = await open({ id: "tools.p", needs_tools: ["greet"], permissions });
    const { settings, note } = await rig.tried(["plugin.mjs", "--fast"]);
    assert.deepEqual(settings.permissions, {
      ...{ tools: ["greet"], ...permissions, namespace: "tools.p" },
      provides: { tools: ["*"], prompts: ["*"] },
    });
    assert.deepEqual(
      [settings.id, settings.code, settings.args],
      ["tools.p", rig.file, [rig.file, "--fast"]],
    );
    assert.equal(note, "it may do only what it declares: call the tool 'greet', read /etc/motd");
  });

  it("gives nothing to one that declares nothing, or is not asked because of --id", async () => {
    await using rig = await open({ id: "tools.p" });
    for (const [id, consent] of [
      ["tools.p", {}],
      ["mine", { id: "mine" }],
    ] as const) {
      const { settings, note } = await rig.tried(["plugin.mjs"], consent);
      assert.deepEqual([settings.id, settings.permissions?.namespace], [id, id]);
      assert.equal(settings.permissions?.everything, undefined);
      assert.match(note, /only what it declares: nothing outside its package$/);
    }
  });

  it("runs nothing with all rights, unless it is told so", async () => {
    await using rig = await open({ id: "tools.p" });
    await assert.rejects(rig.tried(["program"]), {
      code: "untrusted",
      message:
        /^Cannot run 'tools\.p': it would do everything .*, because it declares no permissions.* add --allow-everything/,
    });
    const { settings, note } = await rig.tried(["program"], { "allow-everything": true });
    assert.deepEqual([settings.permissions?.everything, settings.args], [true, []]);
    assert.match(note, /do everything on this machine/);
    await using running = await open({ id: "tools.p", permissions: { run: true } });
    await assert.rejects(running.tried(["plugin.mjs"]), /it would start programs and use all/);
  });
});

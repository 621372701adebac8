import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { LOOKING_ONLY, permissionFlags } from "./permission-flags.ts";

/** Tries everything, and says what it could do. */
const MODULE = `
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { own } from "./own.mjs";
const [secret, notes] = process.argv.slice(2);
const can = (what) => { try { what(); return true; } catch (error) { return error.code; } };
console.log(JSON.stringify({
  own,
  secret: can(() => readFileSync(secret)),
  read: can(() => readFileSync(notes + "/a")),
  write: can(() => writeFileSync(notes + "/a", "b")),
  run: can(() => execFileSync("true")),
}));
`;
const DENIED = "ERR_ACCESS_DENIED";

async function open() {
  const home = await mkdtempDisposable(join(tmpdir(), "trunkline-permissions-"));
  const at = (name: string): string => join(home.path, name);
  await mkdir(at("plugin"));
  await mkdir(at("notes"));
  await writeFile(at("plugin/package.json"), "{}");
  await writeFile(at("plugin/plugin.mjs"), MODULE);
  await writeFile(at("plugin/own.mjs"), "export const own = true;");
  await writeFile(at("secret"), "");
  await writeFile(at("notes/a"), "");
  const run = async (flags: readonly string[]): Promise<unknown> => {
    const args = [...flags, at("plugin/plugin.mjs"), at("secret"), at("notes")];
    return JSON.parse((await promisify(execFile)(process.execPath, args)).stdout);
  };
  return { at, run, [Symbol.asyncDispose]: () => home.remove() };
}

describe("permissionFlags()", () => {
  it("let a plugin load its own package, and nothing else, unless it was approved", async () => {
    await using rig = await open();
    const flags = permissionFlags({}, rig.at("plugin/plugin.mjs"), rig.at("certs"));
    const nothing = { secret: DENIED, read: DENIED, write: DENIED, run: DENIED };
    assert.deepEqual(await rig.run(flags), { own: true, ...nothing });
  });

  it("let it do what was approved, and no more", async () => {
    await using rig = await open();
    const module = rig.at("plugin/plugin.mjs");
    const [notes, certs] = [rig.at("notes"), rig.at("certs")];
    const reading = await rig.run(permissionFlags({ read: [notes] }, module, certs));
    const read = { own: true, secret: DENIED, read: true, write: DENIED, run: DENIED };
    assert.deepEqual(reading, read);
    const all = permissionFlags({ write: [notes], run: true }, module, certs);
    assert.deepEqual(await rig.run(all), { ...read, write: true, run: true });
  });
});

describe("LOOKING_ONLY", () => {
  it("lets a program read, and neither write nor start others", async () => {
    await using rig = await open();
    const expected = { own: true, secret: true, read: true, write: DENIED, run: DENIED };
    assert.deepEqual(await rig.run(LOOKING_ONLY), expected);
  });
});

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtempDisposable, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import {
  LOOKING_ONLY,
  permissionFlags as flagsFor,
  permittedPaths,
  type PluginPermissions,
  portsOf,
} from "./permission-flags.ts";

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
  database: process.getBuiltinModule("node:sqlite") !== undefined,
  signal: can(() => process.kill(process.ppid, 0)) === true,
}));
`;
const DENIED = "ERR_ACCESS_DENIED";
const NEVER = { database: false, signal: false };

async function permissionFlags(
  permissions: PluginPermissions,
  module: string,
  certs: string,
): Promise<string[]> {
  return flagsFor(await permittedPaths(permissions, module, certs), permissions.run);
}

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
    const flags = await permissionFlags({}, rig.at("plugin/plugin.mjs"), rig.at("certs"));
    const nothing = { secret: DENIED, read: DENIED, write: DENIED, run: DENIED, ...NEVER };
    assert.deepEqual(await rig.run(flags), { own: true, ...nothing });
  });

  it("refuse paths that Node takes for others than they look like", async () => {
    await using rig = await open();
    for (const path of ["*", "/home/*", "notes", "~/notes", ""]) {
      for (const permissions of [{ read: [path] }, { write: [path] }]) {
        const flags = permissionFlags(permissions, rig.at("plugin/plugin.mjs"), rig.at("certs"));
        await assert.rejects(flags, /give an absolute path without '\*'/, path);
      }
    }
  });

  it("let it do what was approved, and no more", async () => {
    await using rig = await open();
    const module = rig.at("plugin/plugin.mjs");
    const [notes, certs] = [rig.at("notes"), rig.at("certs")];
    const reading = await rig.run(await permissionFlags({ read: [notes] }, module, certs));
    const read = { own: true, secret: DENIED, read: true, write: DENIED, run: DENIED, ...NEVER };
    assert.deepEqual(reading, read);
    const all = await permissionFlags({ write: [notes], run: true }, module, certs);
    assert.deepEqual(await rig.run(all), { ...read, write: true, run: true, signal: true });
  });

  it("take no folder for a package that holds the home folder, or what the bus keeps", async () => {
    await using rig = await open();
    await writeFile(rig.at("package.json"), "{}");
    await writeFile(rig.at("lone.mjs"), "");
    const flags = await permissionFlags({}, rig.at("lone.mjs"), rig.at("data/bus/run/lone"));
    assert.ok(flags.includes(`--allow-fs-read=${rig.at("lone.mjs")}`));
    assert.ok(!flags.includes(`--allow-fs-read=${rig.at("")}`.replace(/\/$/, "")));
    const { HOME } = process.env;
    try {
      process.env["HOME"] = rig.at("plugin");
      const module = rig.at("plugin/plugin.mjs");
      const atHome = await permissionFlags({}, module, "/nowhere");
      assert.ok(atHome.includes(`--allow-fs-read=${module}`));
      assert.ok(!atHome.includes(`--allow-fs-read=${rig.at("plugin")}`));
    } finally {
      process.env["HOME"] = HOME;
    }
  });

  it("are refused to a package with a link that leads out of it, unless that was approved", async () => {
    await using rig = await open();
    const [module, certs] = [rig.at("plugin/plugin.mjs"), rig.at("certs")];
    await symlink("own.mjs", rig.at("plugin/inside.mjs"));
    await permissionFlags({}, module, certs);
    await mkdir(rig.at("plugin/deep"));
    await symlink(rig.at("notes"), rig.at("plugin/deep/link"));
    await assert.rejects(permissionFlags({}, module, certs), {
      code: "untrusted",
      message: /deep\/link' is a link to '.*\/notes', outside its package\. Remove the link, or /,
    });
    await permissionFlags({ read: [rig.at("notes")] }, module, certs);
    await symlink(rig.at("not-there-yet"), rig.at("plugin/later"));
    await assert.rejects(permissionFlags({ read: [rig.at("notes")] }, module, certs), {
      message: /\/later' is a link to/,
    });
  });
});

describe("portsOf()", () => {
  it("takes hosts and patterns, and gives the ports of this machine", () => {
    const hosts = ["api.example.org", "*.example.com", "db.example.org:5432", "[2001:db8::1]:443"];
    assert.deepEqual([...portsOf([...hosts, "*"])], []);
    assert.deepEqual(
      [...portsOf(["localhost:5432", "127.0.0.1:6379"])],
      [
        [5432, "localhost"],
        [6379, "127.0.0.1"],
      ],
    );
  });

  it("refuses what is no host, and this machine without a port that can be opened", () => {
    for (const host of ["https://example.org", "example.org/path", "", "a b", "x:0", "x:65536"]) {
      assert.throws(() => portsOf([host]), /write a host as `api\.example\.org`/, host);
    }
    assert.throws(
      () => portsOf(["a\u001B[2Jb"]),
      ({ message }: Error) => !message.includes("\u001B"),
    );
    for (const host of ["localhost", "127.0.0.1", "localhost:22", "127.1.2.3:5432", "[::1]:5432"]) {
      assert.throws(
        () => portsOf([host]),
        /Write it as `localhost:PORT`, with a port from 1024/,
        host,
      );
    }
  });
});

describe("LOOKING_ONLY", () => {
  it("lets a program read, and neither write nor start others", async () => {
    await using rig = await open();
    const expected = { own: true, secret: true, read: true, write: DENIED, run: DENIED, ...NEVER };
    assert.deepEqual(await rig.run(LOOKING_ONLY), expected);
  });
});

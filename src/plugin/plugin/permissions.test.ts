import assert from "node:assert/strict";
import { mkdir, mkdtempDisposable, realpath, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { codePaths, permittedPaths, portsOf } from "./permissions.ts";

async function open() {
  const home = await mkdtempDisposable(join(tmpdir(), "trunkline-permissions-"));
  const path = await realpath(home.path);
  const at = (name: string): string => join(path, name);
  for (const folder of ["plugin", "notes", "certs"]) await mkdir(at(folder));
  await writeFile(at("plugin/package.json"), "{}");
  await writeFile(at("plugin/plugin.mjs"), "");
  return { at, [Symbol.asyncDispose]: () => home.remove() };
}

describe("permittedPaths()", () => {
  it("are a plugin's own package, what the bus gives it, and what was approved", async () => {
    await using rig = await open();
    const [module, certs, notes] = [rig.at("plugin/plugin.mjs"), rig.at("certs"), rig.at("notes")];
    assert.deepEqual(permittedPaths({}, [module], certs), {
      read: [rig.at("plugin"), certs],
      write: [],
    });
    assert.deepEqual(permittedPaths({ read: ["/etc/hosts"], write: [notes] }, [module], certs), {
      read: [rig.at("plugin"), certs, "/etc/hosts"],
      write: [notes],
    });
  });

  it("refuse paths that are others than they look like", async () => {
    await using rig = await open();
    for (const path of ["*", "/home/*", "notes", "~/notes", ""]) {
      for (const permissions of [{ read: [path] }, { write: [path] }]) {
        const paths = () =>
          permittedPaths(permissions, [rig.at("plugin/plugin.mjs")], rig.at("certs"));
        assert.throws(paths, /give an absolute path without '\*'/, path);
      }
    }
    // Whoever wrote the package, or the plugin itself, may have made it.
    await symlink(rig.at("notes"), rig.at("plugin/data"));
    const linked = { write: [rig.at("plugin/data/deep")] };
    assert.throws(() => permittedPaths(linked, [rig.at("plugin/plugin.mjs")], rig.at("certs")), {
      code: "untrusted",
      message: /plugin\/data\/deep': it is a link to '.*\/notes\/deep'\. Approve that instead\.$/,
    });
  });
});

describe("codePaths()", () => {
  it("take no folder for a package that holds the home folder, or what the bus keeps", async () => {
    await using rig = await open();
    await writeFile(rig.at("package.json"), "{}");
    await writeFile(rig.at("lone.mjs"), "");
    const alone = [rig.at("lone.mjs")];
    assert.deepEqual(codePaths(rig.at("lone.mjs"), rig.at("data/bus/run/lone")), alone);
    const { HOME } = process.env;
    try {
      process.env["HOME"] = rig.at("plugin");
      const module = rig.at("plugin/plugin.mjs");
      assert.deepEqual(codePaths(module, "/nowhere"), [module]);
    } finally {
      process.env["HOME"] = HOME;
    }
  });

  it("follow a link of what is installed to our SDK, and to nothing else", async () => {
    await using rig = await open();
    const module = rig.at("plugin/plugin.mjs");
    await mkdir(rig.at("plugin/node_modules"));
    await mkdir(rig.at("secret"));
    await writeFile(rig.at("secret/package.json"), '{ "name": "secret" }');
    await symlink(rig.at("secret"), rig.at("plugin/node_modules/trunkline"));
    const own = [rig.at("plugin"), rig.at("plugin/node_modules")];
    assert.deepEqual(codePaths(module), own);
    await writeFile(rig.at("secret/package.json"), '{ "name": "trunkline" }');
    const sdk = [rig.at("secret/dist"), rig.at("secret/package.json")];
    assert.deepEqual(codePaths(module), [...own, ...sdk]);
    // All that is installed may be a link, too.
    await symlink(rig.at("secret"), rig.at("node_modules"));
    assert.deepEqual(codePaths(module), [...own, ...sdk]);
    // And so may be what is in a package that only calls itself our SDK.
    await symlink("/", rig.at("secret/dist"));
    assert.deepEqual(codePaths(module), [...own, rig.at("secret/package.json")]);
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

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, mkdtempDisposable, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { covers } from "../../../test/support/requirement.ts";
import { busCertificates } from "../bus-certificates.ts";
import { LOCK, openRunFolder, PluginFolders } from "./plugin-folder.ts";

async function open() {
  const home = await mkdtempDisposable(join(tmpdir(), "trunkline-folders-"));
  const parent = join(home.path, "run");
  const certificates = busCertificates(join(home.path, "certs"), assert.fail);
  return {
    ...{ parent, make: () => new PluginFolders(parent, certificates) },
    [Symbol.asyncDispose]: () => home.remove(),
  };
}

describe("PluginFolders", () => {
  it("gives a plugin its own certificates and the authority's, without the authority's key", async () => {
    covers("bus.certs.names");
    await using home = await open();
    await using folders = home.make();
    const { path, hasOwnAuthority } = await folders.make("tools.a");
    assert.deepEqual((await readdir(path)).toSorted(), [
      ...["ca.crt", "tools.a-client.crt", "tools.a-client.key", "tools.a.crt", "tools.a.key"],
    ]);
    assert.equal(hasOwnAuthority, false);
  });

  it("says which file of a plugin has no room on the disk, and gives it all when there is", async () => {
    await using home = await open();
    await using folders = home.make();
    using disk = new DiskFaults(home.parent);
    disk.decide = ({ operation }) => (operation === "writeFile" ? "torn" : undefined);
    await assert.rejects(folders.make("tools.a"), {
      code: "unavailable",
      message:
        /^Cannot write '.*\.key': no space left.*Free some space on its disk, and try again\.$/,
    });
    disk.decide = () => undefined;
    const { path } = await folders.make("tools.a");
    assert.equal((await readdir(path)).length, 5);
  });

  it("restores certificates that a plugin has replaced, with a key that matches nothing", async () => {
    await using home = await open();
    await using folders = home.make();
    const folder = await folders.make("tools.a");
    for (const name of ["ca.key", "ca.crt"]) await writeFile(join(folder.path, name), "its own");
    assert.equal(folder.hasOwnAuthority, true);
    await folder.restore();
    assert.equal(folder.hasOwnAuthority, true);
    await using again = home.make();
    const other = await again.make("tools.b");
    assert.equal(
      await readFile(join(folder.path, "ca.crt"), "utf8"),
      await readFile(join(other.path, "ca.crt"), "utf8"),
    );
  });

  it("removes folders of a killed process, and none that is in use", async () => {
    await using home = await open();
    const abandoned = join(home.parent, "abandoned");
    await mkdir(abandoned, { recursive: true });
    const inUse = home.make();
    const { path } = await inUse.make("tools.a");
    assert.equal(existsSync(abandoned), false);
    await using another = home.make();
    await another.make("tools.b");
    assert.equal(existsSync(path), true);
    await inUse[Symbol.asyncDispose]();
    assert.equal(existsSync(path), false);
  });

  it("leaves folders alone that something else than plugins needs, until it is killed", async () => {
    await using home = await open();
    const own = await openRunFolder(home.parent);
    await using folders = home.make();
    await folders.make("tools.a");
    assert.equal(existsSync(own.path), true);
    own[Symbol.dispose]();
    assert.equal(existsSync(own.path), false);
  });

  it("keeps the folder of any id apart from the files of the bus", async () => {
    await using home = await open();
    await using folders = home.make();
    for (const id of [LOCK, `${LOCK}-journal`]) {
      const { path } = await folders.make(id);
      assert.equal(existsSync(join(path, `${id}.crt`)), true);
    }
    await using another = home.make();
    await another.make("tools.b");
    await folders.make(LOCK);
  });

  it("tries again with the next plugin if the folder could not be created", async () => {
    await using home = await open();
    await using folders = home.make();
    await writeFile(home.parent, "in the way");
    await assert.rejects(folders.make("tools.a"));
    await rm(home.parent);
    await folders.make("tools.a");
  });
});

import assert from "node:assert/strict";
import { chmod, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { hashToken, newToken, OwnerToken } from "./access-token.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";

describe("OwnerToken", () => {
  it("is created once, in a file that contains nothing else and only the owner can read", async () => {
    await using folder = await SampleFolder.create();
    const owner = new OwnerToken(folder.path);
    assert.equal(owner.read(), undefined);
    assert.equal(owner.match(""), undefined);
    assert.equal(await owner.ensure(), "made");
    const text = await readFile(owner.path, "utf8");
    assert.match(text, /^tlk_[\w-]{43}$/);
    assert.equal((await stat(owner.path)).mode & 0o777, 0o600);
    assert.equal(await new OwnerToken(folder.path).ensure(), "kept");
    assert.equal(owner.read(), text);
    assert.ok(owner.match(text));
    assert.equal(owner.match(`${text}x`), undefined);
    assert.equal(owner.match(text.slice(0, -1)), undefined);
  });

  it("is reloaded at once by running processes", async () => {
    await using folder = await SampleFolder.create();
    const running = new OwnerToken(folder.path);
    await running.ensure();
    const [old = "", mark] = [running.read(), running.mark];
    await new OwnerToken(folder.path).rotate();
    assert.equal(running.match(old), undefined);
    assert.notEqual(running.mark, mark);
    assert.ok(running.match(await readFile(running.path, "utf8")));
    await rm(running.path);
    assert.equal(running.mark, undefined);
  });

  it("is reloaded within one turn of the event loop, so none of another process is replaced", async () => {
    await using folder = await SampleFolder.create();
    const owner = new OwnerToken(folder.path);
    const others = [newToken(), newToken()];
    mkdirSync(folder.path, { recursive: true });
    for (const token of others) {
      assert.equal(owner.match("tlk_x"), undefined);
      assert.notEqual(owner.read(), token);
      writeFileSync(owner.path, token, { mode: 0o600 });
      assert.ok(owner.match(token));
      assert.equal(owner.read(), token);
      assert.equal(owner.mark, hashToken(token));
    }
    assert.equal(await owner.ensure(), "kept");
  });

  it("is ignored if others could have read it, and is replaced", async () => {
    await using folder = await SampleFolder.create();
    const owner = new OwnerToken(folder.path);
    await owner.ensure();
    const known = owner.read() ?? "";
    await chmod(owner.path, 0o640);
    assert.equal(owner.match(known), undefined);
    assert.equal(await owner.ensure(), "replaced");
    assert.equal(owner.match(known), undefined);
    assert.equal((await stat(owner.path)).mode & 0o777, 0o600);
    // One that another file stands for is as safe as that one, which nobody knows.
    const elsewhere = join(folder.path, "elsewhere");
    await writeFile(elsewhere, owner.read() ?? "", { mode: 0o600 });
    await rm(owner.path);
    await symlink(elsewhere, owner.path);
    assert.equal(owner.read(), undefined);
    assert.equal(await owner.ensure(), "replaced");
    await writeFile(owner.path, "password");
    assert.equal(owner.match("password"), undefined);
  });

  it("is the same if several processes create it at once", async () => {
    await using folder = await SampleFolder.create();
    const owners = Array.from({ length: 8 }, () => new OwnerToken(folder.path));
    await Promise.all(owners.map((owner) => owner.ensure()));
    assert.equal(new Set(owners.map((owner) => owner.read())).size, 1);
  });

  it("is neither replaced nor taken for a wrong one while it cannot be read", async () => {
    await using folder = await SampleFolder.create();
    const made = new OwnerToken(folder.path);
    await made.ensure();
    using disk = new DiskFaults(folder.path);
    const owner = new OwnerToken(folder.path);
    disk.decide = ({ operation }) => (operation === "readFileSync" ? "EIO" : undefined);
    assert.throws(() => owner.read(), /Cannot read the owner's token/);
    assert.throws(() => owner.match("tlk_x"), /Cannot read the owner's token/);
    await assert.rejects(owner.ensure(), /Cannot read the owner's token/);
    disk.decide = () => undefined;
    assert.equal(owner.read(), made.read());
  });
});

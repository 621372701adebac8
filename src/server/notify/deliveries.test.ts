import assert from "node:assert/strict";
import { mkdtempDisposable, readdir, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { deliveries } from "./deliveries.ts";

const temporary = () => mkdtempDisposable(join(tmpdir(), "trunkline-deliveries-"));

describe("deliveries()", () => {
  it("are none where nothing was ever stored, and nothing is created to find that", async () => {
    await using folder = await temporary();
    assert.deepEqual(await deliveries(join(folder.path, "data")), []);
    assert.deepEqual(await readdir(folder.path), []);
  });

  it("are not said to be none where the folder cannot be read", async () => {
    await using folder = await temporary();
    // Root may read every folder, but cannot follow this either.
    await symlink("data", join(folder.path, "data"));
    await assert.rejects(deliveries(join(folder.path, "data")), { code: "ELOOP" });
  });
});

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { mkdtemp, rmdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { noOverlay } from "../../../test/support/no-overlay.ts";

import { workspaceDriverContract } from "../../../test/contract/workspace-driver-contract.ts";
import { openOverlay, OverlayDriver } from "./overlay.ts";

workspaceDriverContract("overlay", () => new OverlayDriver(), noOverlay);

describe("OverlayDriver", { skip: noOverlay }, () => {
  it("also unmounts the intermediate mounts of a killed process", async () => {
    await using driver = new OverlayDriver();
    const folder = await mkdtemp(join(tmpdir(), "trunkline over lay-"));
    const shown = join(folder, "changes/shown-0");
    mkdirSync(shown, { recursive: true });
    execFileSync("mount", ["--bind", "/usr/share", shown]);
    await driver.close(folder);
    for (const each of [shown, join(folder, "changes"), folder]) await rmdir(each);
  });
});

describe("openOverlay()", () => {
  it("gives none for a path that mount options cannot contain", async () => {
    for (const folder of ["/a,b", "/a:b", "/a\\b"]) {
      assert.equal(await openOverlay(folder, undefined), undefined, folder);
    }
  });
});

import assert from "node:assert/strict";
import { tmpdir } from "node:os";
import { describe, it } from "node:test";

import { workspaceDriverContract } from "../../../test/contract/workspace-driver-contract.ts";
import { canOverlay, OverlayDriver } from "./overlay.ts";

const notHere = !canOverlay(tmpdir()) && "Only root can mount here.";
workspaceDriverContract("overlay", () => new OverlayDriver(), notHere);

describe("canOverlay()", () => {
  it("is false for a folder that the options of a mount cannot name", () => {
    for (const folder of ["/a,b", "/a:b", "/a\\b"]) assert.equal(canOverlay(folder), false, folder);
  });
});

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Mounts } from "./mounts.ts";

describe("Mounts", () => {
  it("starts no helper after it is disposed", async () => {
    const mounts = new Mounts();
    await mounts[Symbol.asyncDispose]();
    await assert.rejects(mounts.unmount("/nowhere"), /Trunkline is stopping/);
  });
});

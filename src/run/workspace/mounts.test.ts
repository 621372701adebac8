import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Mounts } from "./mounts.ts";

describe("Mounts", () => {
  it("starts no helper any more once it is disposed of: nobody would end that", async () => {
    const mounts = new Mounts();
    await mounts[Symbol.asyncDispose]();
    await assert.rejects(mounts.unmount("/nowhere"), /Trunkline is stopping/);
  });
});

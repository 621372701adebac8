import assert from "node:assert/strict";
import { rmSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";

import { StorageWriteRequestSchema } from "../../protocol/bus/plugin.gen.ts";
import type { Answer, BusCall } from "../../protocol/bus/serve.ts";
import { busStorage } from "./bus-storage.ts";

describe("busStorage()", { timeout: 30_000 }, () => {
  it("fails with a message while it cannot be opened, and works once it can", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-storage-"));
    const workspace = join(folder.path, "workspace");
    const handlers = busStorage(workspace, () => {});
    const write = async (): Promise<Answer> => {
      const value = { path: "a/b.md", content: Buffer.from("x") };
      const request = create(StorageWriteRequestSchema, value);
      return handlers.storageWrite?.(request, {} as BusCall);
    };
    writeFileSync(workspace, "a file where a folder should be");
    const failed = await write();
    assert.equal(failed?.case, "storageWrite");
    assert.equal(failed.value.success, false);
    assert.match(failed.value.error ?? "", /^Cannot (?:open|write|lock|make) /);
    rmSync(workspace);
    const written = await write();
    assert.equal(written?.case, "storageWrite");
    assert.deepEqual([written.value.success, written.value.newVersion], [true, 1n]);
  });
});

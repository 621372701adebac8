import assert from "node:assert/strict";
import { mkdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";

import { StorageWriteRequestSchema } from "../../protocol/bus/plugin.gen.ts";
import type { Answer, BusCall } from "../../protocol/bus/serve.ts";
import { busStorage } from "./bus-storage.ts";

/** Storage in a folder where something is in the way, and how to clear it away. */
const causes: Readonly<Record<string, (folder: string) => () => void>> = {
  sqlite: (folder) => {
    const path = join(folder, "documents.sqlite");
    mkdirSync(path);
    return () => rmdirSync(path);
  },
  markdown: (folder) => {
    const path = join(folder, "workspace");
    writeFileSync(path, "a file where a folder should be");
    return () => rmSync(path);
  },
};

describe("busStorage()", { timeout: 30_000 }, () => {
  for (const [storageType, block] of Object.entries(causes)) {
    it(`fails with a message while it cannot be opened, and works once it can (${storageType})`, async () => {
      await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-storage-"));
      await using storage = busStorage({
        data: folder.path,
        workspace: join(folder.path, "workspace"),
        report: () => {},
      });
      const write = async (): Promise<Answer> => {
        const value = { path: "a/b.md", content: Buffer.from("x"), storageType };
        const request = create(StorageWriteRequestSchema, value);
        return storage.handlers.storageWrite?.(request, {} as BusCall);
      };
      const clear = block(folder.path);
      const failed = await write();
      assert.equal(failed?.case, "storageWrite");
      assert.equal(failed.value.success, false);
      assert.match(failed.value.error ?? "", /^Cannot (?:open|write|lock|make) /);
      clear();
      const written = await write();
      assert.equal(written?.case, "storageWrite");
      assert.deepEqual([written.value.success, written.value.newVersion], [true, 1n]);
    });
  }
});

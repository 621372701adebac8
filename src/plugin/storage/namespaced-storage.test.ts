import assert from "node:assert/strict";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";

import {
  StorageDeleteRequestSchema,
  StorageListRequestSchema,
  StorageReadRequestSchema,
  StorageWriteRequestSchema,
} from "../../protocol/bus/plugin.gen.ts";
import type { BusCall } from "../../protocol/bus/serve.ts";
import { markdownStorage } from "./markdown-storage.ts";
import { namespacedStorage } from "./route-storage.ts";
import { serveStorage } from "./serve-storage.ts";

/** Our own storage, as it is seen by guests of several namespaces. */
async function open() {
  await using opening = new AsyncDisposableStack();
  const home = await mkdtempDisposable(join(tmpdir(), "trunkline-namespaces-"));
  opening.defer(() => home.remove());
  const markdown = markdownStorage(home.path);
  const own = serveStorage({ storageFor: () => markdown, report: () => {} });
  const as = (namespace: string | undefined) => {
    const handlers = namespacedStorage(own, () => ({ name: "p", namespace }));
    const call = {} as BusCall;
    return {
      read: async (path: string): Promise<string> => {
        const asked = create(StorageReadRequestSchema, { path });
        const answer = await handlers.storageRead?.(asked, call);
        assert.equal(answer?.case, "storageRead");
        return Buffer.from(answer.value.content ?? [])
          .toString()
          .trim();
      },
      write: async (path: string, text: string): Promise<string> => {
        const value = { path, content: Buffer.from(text), expectedVersion: -1n };
        const asked = create(StorageWriteRequestSchema, value);
        const answer = await handlers.storageWrite?.(asked, call);
        assert.equal(answer?.case, "storageWrite");
        return answer.value.error ?? "";
      },
      delete: async (path: string): Promise<boolean | undefined> => {
        const asked = create(StorageDeleteRequestSchema, { path });
        const answer = await handlers.storageDelete?.(asked, call);
        assert.equal(answer?.case, "storageDelete");
        return answer.value.success;
      },
      list: async (prefix = ""): Promise<(string | undefined)[]> => {
        const asked = create(StorageListRequestSchema, { prefix });
        const answer = await handlers.storageList?.(asked, call);
        assert.equal(answer?.case, "storageList");
        return (answer.value.entries ?? []).map(({ path }) => path);
      },
    };
  };
  const opened = opening.move();
  return { as, path: home.path, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

describe("namespacedStorage()", () => {
  it("gives each namespace its own documents", async () => {
    await using rig = await open();
    const [one, other, shared] = ["one", "other", "/"].map((name) => rig.as(name));
    assert.ok(one !== undefined && other !== undefined && shared !== undefined);
    for (const [text, at] of Object.entries({ one, other, shared })) {
      assert.equal(await at.write("notes/a.md", text), "");
    }
    assert.equal(await one.read("notes/a.md"), "one");
    assert.equal(await other.read("notes/a.md"), "other");
    assert.equal(await shared.read("notes/a.md"), "shared");
    for (const at of [one, other, shared]) {
      for (const prefix of ["", ".", "notes", "notes/"]) {
        assert.deepEqual(await at.list(prefix), ["notes/a.md"], prefix);
      }
    }
    assert.equal(await one.delete("notes/a.md"), true);
    assert.deepEqual(await one.list(), []);
    assert.equal(await other.read("notes/a.md"), "other");
  });

  it("lets no path lead to another namespace", async () => {
    await using rig = await open();
    const [one, other, shared] = ["one", "other", "/"].map((name) => rig.as(name));
    assert.ok(one !== undefined && other !== undefined && shared !== undefined);
    await other.write("a.md", "secret");
    await shared.write("b.md", "secret");
    for (const path of ["../other/a.md", "x/../../other/a.md", "../../b.md", "/b.md", "..\\b.md"]) {
      await assert.rejects(one.read(path), { code: "usage" }, path);
      assert.notEqual(await one.write(path, "mine"), "", path);
      await assert.rejects(one.delete(path), { code: "usage" }, path);
    }
    for (const path of [".plugins/other/a.md", "./.plugins//other/a.md", ".PLUGINS/other/a.md"]) {
      await assert.rejects(shared.read(path), { code: "untrusted" }, path);
      assert.match(await shared.write(path, "mine"), /holds the documents of single plugins/, path);
      await assert.rejects(shared.list(path), { code: "untrusted" }, path);
    }
    assert.deepEqual(await one.list(".plugins"), []);
    assert.deepEqual([await other.read("a.md"), await shared.read("b.md")], ["secret", "secret"]);
  });

  it("tells ids apart that differ in the size of letters, also where file names do not", async () => {
    await using rig = await open();
    await rig.as("Tools.X").write("a.md", "large");
    assert.equal(await rig.as("tools.x").read("a.md"), "");
    await mkdir(join(rig.path, ".projects/.plugins/^Tools.^X"), { recursive: true });
    await writeFile(join(rig.path, ".projects/.plugins/^Tools.^X/b.md"), "by hand");
    assert.equal(await rig.as("Tools.X").read("b.md"), "by hand");
  });

  it("refuses a plugin about which nobody was asked, and says what to do", async () => {
    await using rig = await open();
    const asked = rig.as(undefined);
    const words = /nobody was asked .* Run `trunkline plugin approve p`/;
    await assert.rejects(asked.read("a.md"), { code: "untrusted", message: words });
    await assert.rejects(asked.list(), { code: "untrusted", message: words });
    assert.match(await asked.write("a.md", "x"), words);
  });
});

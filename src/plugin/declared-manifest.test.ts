import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempDisposable, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import {
  MANIFEST_FILE,
  parseManifest,
  readManifestFile,
  wantedPermissions,
} from "./declared-manifest.ts";

describe("readManifestFile()", () => {
  it("reads a manifest as data, and nothing where there is none", async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-manifest-"));
    assert.equal(readManifestFile(home.path), undefined);
    await writeFile(join(home.path, MANIFEST_FILE), '{ "id": "tools.x", "needs_tools": ["a"] }');
    assert.deepEqual(readManifestFile(home.path), { id: "tools.x", needs_tools: ["a"] });
  });

  it("refuses a link, a pipe, a device, a folder, a long file and what is no manifest", async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-manifest-"));
    const file = join(home.path, MANIFEST_FILE);
    const secret = join(home.path, "secret");
    await writeFile(secret, "root:$6$hash");
    const places: [place: () => unknown, words: RegExp][] = [
      [() => symlink(secret, file), /: it is a link\.$/],
      [() => symlink("/dev/zero", file), /: it is a link\.$/],
      [() => execFileSync("mkfifo", [file]), /: it is not a regular file\.$/],
      [() => execFileSync("mkdir", [file]), /: it is a folder\.$/],
      [() => writeFile(file, " ".repeat(1024 * 1024 + 1)), /over the limit of 1048576\.$/],
      [() => writeFile(file, "[".repeat(200_000)), /Cannot use the manifest/],
      [() => writeFile(file, "{}"), /it is malformed or has no id/],
    ];
    for (const [place, words] of places) {
      await place();
      assert.throws(() => readManifestFile(home.path), { code: "config", message: words });
      await rm(file, { recursive: true });
    }
  });
});

describe("parseManifest()", () => {
  it("takes nothing that is not of its form", () => {
    for (const text of [
      ...["", "null", "[]", '"x"', "{}", '{"id":5}', '{"id":"x","permissions":null}'],
      ...['{"id":"x","permissions":{"read":"/"}}', '{"id":"x","needs_tools":5}'],
      ...['{"id":"x","provides_storage":"markdown"}', '{"id":"x","permissions":{"run":"no"}}'],
      ...['{"id":"x","needs_events":[1]}', '{"id":"x","permissions":{"namespace":["a"]}}'],
    ]) {
      assert.equal(parseManifest(text), undefined, text);
    }
  });
});

describe("wantedPermissions()", () => {
  it("are all that a plugin asks for, in its own namespace", () => {
    const permissions = { read: ["/r"], write: [], run: true, hosts: ["h"] };
    const manifest = {
      ...{ id: "a", permissions, needs_tools: ["b"], needs_events: ["t"], provides_events: ["u"] },
      ...{
        provides_tools: ["c"],
        provides_prompts: [],
        provides_storage: ["s"],
        provides_ai: ["m"],
      },
    };
    assert.deepEqual(wantedPermissions(manifest), {
      ...{ tools: ["b"], read: ["/r"], run: true, hosts: ["h"], namespace: "a" },
      ...{ publish: ["u"], subscribe: ["t"] },
      provides: { tools: ["c"], prompts: [], storage: ["s"], ai: ["m"] },
    });
    const any = { tools: ["*"], prompts: ["*"] };
    assert.deepEqual(wantedPermissions({ id: "a" }), { namespace: "a", provides: any });
  });

  it("ask for the shared documents where a plugin for Orchestra needs storage, or used them before", () => {
    const needs = { id: "a", needs_storage: ["markdown"] };
    assert.equal(wantedPermissions(needs).namespace, "/");
    assert.equal(wantedPermissions({ ...needs, permissions: {} }).namespace, "a");
    assert.equal(wantedPermissions({ id: "a", permissions: {} }, "/").namespace, "/");
    assert.equal(
      wantedPermissions({ id: "a", permissions: { namespace: "b" } }, "/").namespace,
      "b",
    );
  });
});

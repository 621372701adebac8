import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../test/samples/sample-folder.ts";
import { DiskFaults } from "../../test/support/disk-faults.ts";
import { RecordFile } from "./record-file.ts";

interface State {
  readonly issuer: string;
}

const A: State = { issuer: "https://a.example" };
const B: State = { issuer: "https://b.example" };

describe("RecordFile", () => {
  it("changes one record, and keeps the others", async () => {
    await using folder = await SampleFolder.create();
    const states = new RecordFile<State>(join(folder.path, "logins.json"));
    assert.equal(states.stamp(), "none");
    await states.change("a", () => A);
    const before = states.stamp();
    await states.change("b", () => B);
    assert.notEqual(states.stamp(), before);
    assert.deepEqual(await states.get("a"), A);
    await states.change("a", (known) => (assert.deepEqual(known, A), undefined));
    assert.equal(await states.get("a"), undefined);
    assert.deepEqual(await states.get("b"), B);
    assert.equal(await states.get("toString"), undefined);
  });

  it("loses no record if the file cannot be read at the moment", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "logins.json");
    const states = new RecordFile<State>(path);
    await states.change("a", () => A);
    {
      using disk = new DiskFaults(folder.path);
      disk.decide = (call) => (call.path === path ? "EIO" : undefined);
      await assert.rejects(
        states.change("b", () => B),
        /Cannot read '.*logins\.json': /,
      );
      await assert.rejects(states.get("a"), /Cannot read/);
    }
    assert.deepEqual(await states.get("a"), A);
  });

  it("starts again with an empty file if it is damaged", async () => {
    await using folder = await SampleFolder.create();
    await mkdir(folder.path, { recursive: true });
    const path = join(folder.path, "logins.json");
    for (const text of ["{", "null", '"a"', ""]) {
      await writeFile(path, text);
      const states = new RecordFile<State>(path);
      assert.equal(await states.get("a"), undefined, text);
      await states.change("a", () => A);
      assert.deepEqual(await states.get("a"), A, text);
    }
  });
});

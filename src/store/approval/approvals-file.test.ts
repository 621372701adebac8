import assert from "node:assert/strict";
import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { type Approval, keyOf } from "./approval.ts";
import { ApprovalsFile } from "./approvals-file.ts";

const SEEN = { fingerprint: "f", time: "2026-01-01T00:00:00.000Z" };
const tool = (server: string, name: string): Approval => ({ server, name, approved: SEEN });
const put = (all: Map<string, Approval>, one: Approval) =>
  void all.set(keyOf(one.server, one.name), one);

describe("ApprovalsFile", () => {
  it("treats a missing file or folder as one without approvals", async () => {
    await using folder = await SampleFolder.create();
    assert.deepEqual(await new ApprovalsFile(folder.path).read(), new Map());
    await writeFile(folder.path, "");
    assert.deepEqual(await new ApprovalsFile(folder.path).read(), new Map());
    await assert.rejects(
      new ApprovalsFile(folder.path).update(() => {}),
      { code: "config", message: /Cannot write/ },
    );
  });

  for (const [text, why] of [
    ["{", "it is not JSON"],
    ["null", "it has no list of tools"],
    ['{"tools":{}}', "it has no list of tools"],
    ['{"tools":[{"server":"s"}]}', "it has no list of tools"],
  ] as const) {
    it(`reports for ${text} that ${why}, and how to continue`, async () => {
      await using folder = await SampleFolder.create();
      await mkdir(folder.path);
      await writeFile(join(folder.path, "approvals.json"), text);
      const file = new ApprovalsFile(folder.path);
      await assert.rejects(file.read(), {
        code: "config",
        message: new RegExp(`${why}. Repair it`),
      });
      await assert.rejects(file.update((all) => put(all, tool("s", "a"))));
      assert.equal(await readFile(file.path, "utf8"), text, "what is there stays as it is");
    });
  }

  it("changes the state on disk, not what it last read, in an order that diffs well", async () => {
    await using folder = await SampleFolder.create();
    const [one, other] = [new ApprovalsFile(folder.path), new ApprovalsFile(folder.path)];
    await one.update((all) => put(all, tool("s", "b")));
    const all = await other.update((known) => put(known, tool("s", "a")));
    assert.deepEqual([...all.keys()].toSorted(), [keyOf("s", "a"), keyOf("s", "b")]);
    const { tools } = JSON.parse(await readFile(one.path, "utf8")) as { tools: Approval[] };
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["a", "b"],
    );
    assert.equal((await stat(one.path)).mode & 0o777, 0o600);
  });

  it("reports changes until it is stopped", async () => {
    await using folder = await SampleFolder.create();
    const file = new ApprovalsFile(folder.path);
    const changed = Promise.withResolvers<Map<string, Approval>>();
    file.watch((read) => void read.then(changed.resolve, changed.reject));
    try {
      await new ApprovalsFile(folder.path).update((all) => put(all, tool("s", "a")));
      assert.deepEqual([...(await changed.promise).keys()], [keyOf("s", "a")]);
    } finally {
      file.unwatch();
    }
  });
});

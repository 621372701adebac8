import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";

import { Documents } from "./documents.ts";
import { SampleFolder } from "../../test/samples/sample-folder.ts";

const put = (text: string): { content: Buffer; metadata: undefined } => ({
  content: Buffer.from(text),
  metadata: undefined,
});
const admit = (): void => {};

describe("Documents", () => {
  it("keeps the history of a document, also of a deleted one", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "documents.db");
    using documents = await Documents.open(path);
    await documents.put("a", put("one"), admit);
    await documents.put("a", { ...put("three"), metadata: `{"n":2}` }, admit);
    assert.equal(await documents.delete("a"), true);
    assert.equal(await documents.delete("a"), false);
    assert.equal(await documents.read("a"), undefined);
    assert.equal(await documents.put("a", put(""), admit), 4);
    const history = await documents.history("a");
    assert.deepEqual(
      history.map(({ version, size }) => [version, size]),
      [
        [1, 3],
        [2, 5],
        [3, undefined],
        [4, 0],
      ],
    );
    assert.ok(history.every(({ at }) => Math.abs(at.getTime() - Date.now()) < 60_000));
    using raw = new DatabaseSync(path);
    const rows = raw.prepare("SELECT content FROM document_change WHERE version = 2").all();
    assert.equal(String(rows[0]?.content), "116,104,114,101,101");
    assert.throws(() => raw.exec("UPDATE document_change SET version = 9"), /never altered/);
    assert.throws(() => raw.exec("DELETE FROM document_change"), /never forgotten/);
  });

  it("asks whether a change is allowed, with the current state, and discards it if not", async () => {
    await using folder = await SampleFolder.create();
    using documents = await Documents.open(join(folder.path, "documents.db"));
    const asked: unknown[] = [];
    const note = (present: number | undefined): void => void asked.push(present);
    await documents.put("a", put("1"), note);
    await documents.put("a", put("2"), note);
    await documents.delete("a");
    await documents.put("a", put("3"), note);
    assert.deepEqual(asked, [undefined, 1, undefined]);
    const no = new Error("no");
    const refused = documents.put("a", put("4"), () => {
      throw no;
    });
    await assert.rejects(refused, no);
    assert.equal((await documents.history("a")).length, 4);
    assert.equal(String((await documents.read("a"))?.content), "51");
  });

  it("can rebuild the current state from its history", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "documents.db");
    using documents = await Documents.open(path);
    for (const name of ["a", "b/c", "b/d"]) await documents.put(name, put(name), admit);
    await documents.put("a", put("again"), admit);
    await documents.delete("b/c");
    using raw = new DatabaseSync(path);
    const derived = raw
      .prepare(
        `SELECT path, version, at, length(content) AS size, id AS change FROM document_change AS c
         WHERE version = (SELECT max(version) FROM document_change WHERE path = c.path)
         ORDER BY path`,
      )
      .all();
    const kept = raw.prepare("SELECT path, version, at, size, change FROM document ORDER BY path");
    assert.deepEqual(kept.all(), derived);
    assert.equal(raw.prepare("PRAGMA integrity_check").get()?.integrity_check, "ok");
  });
});

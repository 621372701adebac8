import assert from "node:assert/strict";
import {
  mkdtempDisposableSync,
  openSync,
  closeSync,
  readdirSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";

import { checkDatabases } from "./check-databases.ts";

/** Makes a database of many pages, and leaves it open if that is wanted. */
function makeDatabase(path: string): DatabaseSync {
  const database = new DatabaseSync(path);
  database.exec("PRAGMA journal_mode = WAL; PRAGMA user_version = 7; CREATE TABLE t (a, b)");
  database.exec("CREATE INDEX i ON t (a)");
  database.exec(`WITH RECURSIVE n (x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 2000)
    INSERT INTO t SELECT 'key' || x, zeroblob(100) FROM n`);
  return database;
}

/** Overwrites the middle of a file. */
function damage(path: string): void {
  const file = openSync(path, "r+");
  writeSync(file, Buffer.alloc(20_000, 7), 0, 20_000, Math.floor(statSync(path).size / 2));
  closeSync(file);
}

describe("checkDatabases()", () => {
  it("tells whole files from damaged ones and from other files, and leaves nothing behind", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-check-"));
    const at = (name: string): string => join(folder.path, name);
    makeDatabase(at("whole")).close();
    makeDatabase(at("what's #1?")).close();
    makeDatabase(at("damaged")).close();
    damage(at("damaged"));
    writeFileSync(at("text"), "not a database ".repeat(100));
    writeFileSync(at("empty"), "");
    const names = ["whole", "what's #1?", "damaged", "text", "empty"];
    const found = await checkDatabases(names.map(at));
    const problems = found.map(({ problem }) => problem ?? "ok");
    assert.match(problems[2] ?? "", /page|malformed/);
    assert.deepEqual(problems.with(2, ""), ["ok", "ok", "", "file is not a database", "ok"]);
    assert.equal(found[0]?.version, 7);
    assert.deepEqual(readdirSync(folder.path).toSorted(), names.toSorted());
  });

  it("reads what a process that has the file open has written last", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-check-"));
    const path = join(folder.path, "open");
    using _open = makeDatabase(path);
    const [found] = await checkDatabases([path]);
    assert.deepEqual(found, { path, version: 7 });
  });

  it("reports a missing file, and knows nothing of a file that it was not given time for", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-check-"));
    const path = join(folder.path, "missing");
    const [missing] = await checkDatabases([path]);
    assert.match(missing?.problem ?? "", /unable to open/);
    assert.deepEqual(await checkDatabases([path], AbortSignal.abort()), [{ path }]);
  });
});

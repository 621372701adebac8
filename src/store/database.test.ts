import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, cp, mkdir, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { SampleFolder } from "../../test/samples/sample-folder.ts";
import { LockedDatabase } from "../../test/support/locked-database.ts";
import { processOf } from "../base/process/process-table.ts";
import { Database } from "./database.ts";

import { until } from "../../test/support/until.ts";
const TABLE = "CREATE TABLE t (x INTEGER)";

it(
  "a process that was stopped while it changes a database is woken to finish, and stopped again",
  { timeout: 60_000, skip: process.platform === "linux" ? false : "only Linux lists locks" },
  async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "t.sqlite");
    using database = await Database.open(path, [TABLE]);
    const script = `
      const { DatabaseSync } = require("node:sqlite");
      const database = new DatabaseSync(${JSON.stringify(path)});
      database.exec("BEGIN IMMEDIATE; INSERT INTO t VALUES (1)");
      process.kill(process.pid, "SIGSTOP");
      database.exec("COMMIT");
      setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["-e", script], { stdio: "inherit" });
    const { pid = 0 } = child;
    try {
      await until(() => processOf(pid)?.isStopped === true);
      await database.change((it) => it.exec("INSERT INTO t VALUES (2)"));
      const rows = await database.read((it) => it.prepare("SELECT x FROM t ORDER BY x").all());
      assert.deepEqual(
        rows.map(({ x }) => x),
        [1, 2],
      );
      await until(() => processOf(pid)?.isStopped === true);
    } finally {
      const exit = once(child, "exit");
      child.kill("SIGKILL");
      await exit;
    }
  },
);

const MODULE = JSON.stringify(new URL("database.ts", import.meta.url).href);
const STEPS = ["CREATE TABLE t (n INTEGER) STRICT", "INSERT INTO t VALUES (1)"];

function all(database: Database): Promise<unknown[]> {
  return database.read((sqlite) =>
    sqlite
      .prepare("SELECT n FROM t ORDER BY n")
      .all()
      .map(({ n }) => n),
  );
}

describe("Database", { timeout: 60_000 }, () => {
  it("can be read by its owner only, with all of its files", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "deep/x.db");
    using database = await Database.open(path, STEPS);
    await database.change((sqlite) => sqlite.exec("INSERT INTO t VALUES (2)"));
    for (const suffix of ["", "-wal", "-shm"]) {
      assert.equal((await stat(path + suffix)).mode & 0o777, 0o600, suffix);
    }
    assert.equal((await stat(dirname(path))).mode & 0o777, 0o700);
  });

  it("makes a file private that others could read", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "x.db");
    (await Database.open(path, STEPS))[Symbol.dispose]();
    await chmod(path, 0o644);
    using database = await Database.open(path, STEPS);
    assert.equal((await stat(path)).mode & 0o777, 0o600);
    assert.deepEqual(await all(database), [1]);
  });

  it("waits for the disk at each change, and enforces foreign keys", async () => {
    await using folder = await SampleFolder.create();
    using database = await Database.open(join(folder.path, "x.db"), STEPS);
    const settings = await database.read((sqlite) =>
      ["journal_mode", "synchronous", "foreign_keys"].map(
        (name) => Object.values(sqlite.prepare(`PRAGMA ${name}`).get() ?? {})[0],
      ),
    );
    assert.deepEqual(settings, ["wal", 2, 1]);
  });

  it("waits for the disk at no change where that is not wanted, also after a hasty one", async () => {
    await using folder = await SampleFolder.create();
    using database = await Database.open(join(folder.path, "x.db"), STEPS, { isHasty: true });
    const read = (): Promise<unknown> =>
      database.read((sqlite) => sqlite.prepare("PRAGMA synchronous").get()?.synchronous);
    assert.equal(await read(), 1);
    await database.change((sqlite) => sqlite.exec("INSERT INTO t VALUES (2)"), { isHasty: true });
    assert.equal(await read(), 1);
  });

  it("uses the requested page size for a new file, and keeps that of an existing one", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "x.db");
    for (const pageSize of [8192, 16_384]) {
      using database = await Database.open(path, STEPS, { pageSize });
      const row = await database.read((sqlite) => sqlite.prepare("PRAGMA page_size").get());
      assert.equal(row?.page_size, 8192);
      assert.deepEqual(await all(database), [1]);
    }
  });

  it("applies each migration once, and none halfway", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "x.db");
    (await Database.open(path, STEPS))[Symbol.dispose]();
    const wrong = [...STEPS, "INSERT INTO t VALUES (2)", "no sql"];
    await assert.rejects(Database.open(path, wrong), { code: "unavailable", message: /x\.db/ });
    const more = [...STEPS, "INSERT INTO t VALUES (3)"];
    (await Database.open(path, more))[Symbol.dispose]();
    using database = await Database.open(path, more);
    assert.deepEqual(await all(database), [1, 3]);
    await assert.rejects(Database.open(path, STEPS), {
      code: "config",
      message: /it was made by a newer Trunkline/,
    });
  });

  it("is created once when several processes open it for the first time", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "x.db");
    const script = `
      const { Database } = await import(${MODULE});
      const database = await Database.open(${JSON.stringify(path)}, ${JSON.stringify(STEPS)});
      for (let n = 0; n < 20; n++) {
        await database.change((sqlite) => sqlite.exec("INSERT INTO t VALUES (2)"));
      }`;
    const run = () => promisify(execFile)(process.execPath, ["--input-type=module", "-e", script]);
    await Promise.all([run(), run(), run(), run()]);
    using database = await Database.open(path, STEPS);
    assert.deepEqual(await all(database), [1, ...Array.from({ length: 80 }, () => 2)]);
  });

  it("makes a change completely or not at all", async () => {
    await using folder = await SampleFolder.create();
    using database = await Database.open(join(folder.path, "x.db"), STEPS);
    const fault = new Error("a fault of the program");
    const change = database.change((sqlite) => {
      sqlite.exec("INSERT INTO t VALUES (2)");
      throw fault;
    });
    await assert.rejects(change, fault);
    assert.deepEqual(await all(database), [1]);
    await database.change((sqlite) => sqlite.exec("INSERT INTO t VALUES (3)"));
    assert.deepEqual(await all(database), [1, 3]);
  });

  it("lets other work continue while it waits for another process", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "x.db");
    using database = await Database.open(path, STEPS);
    const script = `
      const { DatabaseSync } = await import("node:sqlite");
      const database = new DatabaseSync(${JSON.stringify(path)});
      database.exec("BEGIN IMMEDIATE; INSERT INTO t VALUES (2)");
      console.log("begun");
      process.stdin.once("data", () => { database.exec("COMMIT"); process.exit(); });`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    await once(child.stdout, "data");
    let isChanged = false;
    const changed = database
      .change((sqlite) => sqlite.exec("INSERT INTO t VALUES (3)"))
      .then(() => (isChanged = true));
    // Readers see what there was; nothing here stands still.
    for (let round = 0; round < 5; round++) assert.deepEqual(await all(database), [1]);
    assert.equal(isChanged, false);
    child.stdin.write("go");
    await changed;
    assert.deepEqual(await all(database), [1, 2, 3]);
  });

  it("makes changes in the order they are requested, also while another process holds the lock", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "x.db");
    using database = await Database.open(path, STEPS);
    const order: number[] = [];
    const changes: Promise<void>[] = [];
    {
      await using _lock = await LockedDatabase.lock(path);
      for (let n = 0; n < 20; n++) {
        changes.push(database.change(() => {}).then(() => void order.push(n)));
        // Each tries at another moment, and waits at random.
        await delay(5);
      }
      assert.deepEqual(order, []);
    }
    await Promise.all(changes);
    assert.deepEqual(
      order,
      Array.from({ length: 20 }, (_, n) => n),
    );
  });

  it("reports a file that is not a database, and leaves it unchanged", async () => {
    await using folder = await SampleFolder.create();
    await mkdir(folder.path);
    const path = join(folder.path, "x.db");
    const text = "dear diary ".repeat(1_000);
    await writeFile(path, text);
    await assert.rejects(Database.open(path, STEPS), {
      code: "unavailable",
      message: `Cannot open '${path}': file is not a database. \`trunkline doctor\` says what can be done.`,
    });
    assert.equal(await readFile(path, "utf8"), text);
    await assert.rejects(Database.open(join(path, "y.db"), STEPS), { code: "unavailable" });
  });

  it("reports a folder in which nothing can be made", async () => {
    const path = "/proc/trunkline/x.db";
    const message =
      /^Cannot open '\/proc\/trunkline\/x\.db': no such file .*: '\/proc\/trunkline'$/;
    await assert.rejects(Database.open(path, STEPS), { message });
  });

  it("acknowledges no change to a file that was removed or replaced, and all when it is back", async () => {
    await using folder = await SampleFolder.create();
    const path = join(folder.path, "data/x.db");
    using database = await Database.open(path, STEPS);
    const insert = (n: number, isHasty = false): Promise<void> =>
      database.change((sqlite) => sqlite.exec(`INSERT INTO t VALUES (${n})`), { isHasty });
    const message = `Cannot write '${path}': it was removed or replaced while it was open. Start Trunkline again`;
    await rename(dirname(path), `${dirname(path)}-moved`);
    await assert.rejects(insert(2), { code: "unavailable", message });
    await cp(`${dirname(path)}-moved`, dirname(path), { recursive: true });
    await assert.rejects(insert(3, true), { code: "unavailable", message });
    await rm(dirname(path), { recursive: true });
    await rename(`${dirname(path)}-moved`, dirname(path));
    await insert(4);
    assert.deepEqual(await all(database), [1, 4]);
  });

  it("reports that it was closed", async () => {
    await using folder = await SampleFolder.create();
    const database = await Database.open(join(folder.path, "x.db"), STEPS);
    database[Symbol.dispose]();
    database[Symbol.dispose]();
    await assert.rejects(all(database), { code: "closed", message: /it was closed/ });
  });
});

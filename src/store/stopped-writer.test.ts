import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { it } from "node:test";

import { SampleFolder } from "../../test/samples/sample-folder.ts";
import { until } from "../../test/support/until.ts";
import { processOf } from "../base/process/process-table.ts";
import { Database } from "./database.ts";

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

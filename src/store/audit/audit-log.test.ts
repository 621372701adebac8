import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, readFileSync, renameSync, watch, writeSync } from "node:fs";
import { mkdir, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { streamChannel } from "../../wire/channel/stream.ts";
import { AuditLog, type AuditLogOptions, SEAL } from "./audit-log.ts";
import { verifyAudit } from "./verify-audit.ts";
import { AUDIT_FILE, AUDIT_FOLDER, readAudit } from "../../../test/support/read-audit.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { until } from "../../../test/support/until.ts";

async function entries(folder: SampleFolder): Promise<unknown[]> {
  return Array.fromAsync(readAudit(folder.path));
}

function numbers(count: number, from = 0): { n: number }[] {
  return Array.from({ length: count }, (_, n) => ({ n: from + n }));
}

function fail(message: string): never {
  throw new Error(message);
}

function reporting(options: AuditLogOptions = {}) {
  const reports: Record<string, unknown>[] = [];
  const report = (event: string, fields: Record<string, unknown>): void => {
    reports.push({ event, ...fields });
  };
  return { reports, options: { report, ...options } };
}

describe("AuditLog", () => {
  it("stores entries in order, readable by the owner only", async () => {
    await using folder = await SampleFolder.create();
    {
      using log = new AuditLog(folder.path);
      for (const entry of numbers(100)) log.record(entry);
      log.flush();
      for (const entry of numbers(100, 100)) log.record(entry);
    }
    assert.deepEqual(await entries(folder), numbers(200));
    assert.equal((await stat(join(folder.path, AUDIT_FOLDER))).mode & 0o777, 0o700);
    assert.equal((await stat(join(folder.path, AUDIT_FILE))).mode & 0o777, 0o600);
  });

  it("creates nothing until there is something to record", async () => {
    await using folder = await SampleFolder.create();
    {
      using _ = new AuditLog(folder.path);
    }
    await assert.rejects(stat(folder.path), { code: "ENOENT" });
    assert.deepEqual(await entries(folder), []);
  });

  it("writes all entries of one turn at once", async () => {
    await using folder = await SampleFolder.create();
    const batches: number[] = [];
    using log = new AuditLog(folder.path, {
      write: (file, bytes) => {
        batches.push(bytes.toString().split("\n").length - 1);
        return writeSync(file, bytes);
      },
    });
    for (const entry of numbers(50)) log.record(entry);
    log.flush();
    assert.deepEqual(batches, [51], "with their seal");
  });

  it("appends to an existing file", async () => {
    await using folder = await SampleFolder.create();
    for (const entry of numbers(3)) {
      using log = new AuditLog(folder.path);
      log.record(entry);
    }
    assert.deepEqual(await entries(folder), numbers(3));
  });

  it("shares the file with other processes, without torn lines", async () => {
    await using folder = await SampleFolder.create();
    const program = `
      const { AuditLog } = await import(${JSON.stringify(new URL("audit-log.ts", import.meta.url).href)});
      using log = new AuditLog(${JSON.stringify(folder.path)}, { maxFile: 200_000, checkEvery: 1 });
      for (let n = 0; n < 500; n++) {
        log.record({ by: process.argv[1], n, text: "x".repeat(n * 4) });
        if (n % 7 === 0) log.flush();
      }`;
    const names = ["a", "b", "c"];
    const args = ["--input-type=module", "--eval", program];
    await Promise.all(names.map((name) => promisify(execFile)(process.execPath, [...args, name])));
    const all = (await entries(folder)) as { by: string; n: number }[];
    const files = await readdir(join(folder.path, AUDIT_FOLDER));
    const lines = files
      .filter((name) => name !== "key")
      .map((name) => readFile(join(folder.path, AUDIT_FOLDER, name), "utf8"));
    // Who sees half of another's write begins a new line, which leaves an empty one behind.
    const whole = (await Promise.all(lines)).join("").split("\n").filter(Boolean);
    const count = whole.filter((line) => !line.startsWith(SEAL)).length;
    assert.equal(count, all.length, "every line can be read");
    const { sealed, problems } = await verifyAudit(folder.path);
    assert.deepEqual({ sealed, problems }, { sealed: 1_500, problems: [] });
    for (const name of names) {
      const own = all.filter(({ by }) => by === name).map(({ n }) => n);
      assert.deepEqual(
        own.toSorted((x, y) => x - y),
        numbers(500).map(({ n }) => n),
        name,
      );
    }
    assert(files.length > 2, "it was set aside at least once");
  });

  it("leaves no unfinished key behind if the disk is full", async () => {
    await using folder = await SampleFolder.create();
    const program = `
      const { AuditLog } = await import(${JSON.stringify(new URL("audit-log.ts", import.meta.url).href)});
      using log = new AuditLog(${JSON.stringify(folder.path)});
      log.record({ n: 1 });`;
    // As on a full disk, files can be made but hold nothing.
    const full = ["-c", `trap '' XFSZ; ulimit -f 0; exec "$@"`, "sh", process.execPath];
    await promisify(execFile)("sh", [...full, "--input-type=module", "--eval", program]);
    assert.deepEqual(await readdir(join(folder.path, AUDIT_FOLDER)), ["audit.ndjson"]);
  });

  it("renames a full file and begins another", async () => {
    await using folder = await SampleFolder.create();
    {
      using log = new AuditLog(folder.path, { maxFile: 100 });
      for (const entry of numbers(30)) {
        log.record(entry);
        log.flush();
      }
    }
    const written = await readdir(join(folder.path, AUDIT_FOLDER));
    const names = written.filter((name) => name !== "audit.ndjson" && name !== "key");
    assert(names.length >= 2, names.join());
    for (const name of names) {
      assert.match(name, /^audit-\d{8}T\d{9}Z-\d+\.ndjson$/);
      assert.equal((await stat(join(folder.path, AUDIT_FOLDER, name))).mode & 0o777, 0o600);
    }
    const read = (await entries(folder)) as { n: number }[];
    assert.deepEqual(
      read.toSorted((a, b) => a.n - b.n),
      numbers(30),
    );
  });

  it("does not wake those who watch the data folder", async () => {
    await using folder = await SampleFolder.create();
    using log = new AuditLog(folder.path);
    log.record({ n: 0 });
    log.flush();
    const heard: (string | null)[] = [];
    const last = Promise.withResolvers<void>();
    const watcher = watch(folder.path, (_, name) => {
      heard.push(name);
      if (name === "last") last.resolve();
    });
    for (const entry of numbers(10)) {
      log.record(entry);
      log.flush();
    }
    await writeFile(join(folder.path, "last"), "");
    await last.promise;
    watcher.close();
    assert.deepEqual([...new Set(heard)], ["last"]);
  });

  it("begins another file when another process has renamed it", async () => {
    await using folder = await SampleFolder.create();
    using log = new AuditLog(folder.path, { checkEvery: 0 });
    const path = join(folder.path, AUDIT_FILE);
    log.record({ n: 0 });
    log.flush();
    renameSync(path, join(folder.path, "elsewhere"));
    log.record({ n: 1 });
    log.flush();
    assert.match(readFileSync(path, "utf8"), /^\{"n":1,"writer":"[^"]+"\}\n\{"seal":.*\n$/);
  });

  it("keeps what the disk refuses, and writes it once that works", async () => {
    await using folder = await SampleFolder.create();
    const { reports, options } = reporting();
    let isDead = true;
    using log = new AuditLog(folder.path, {
      ...options,
      write: (file, bytes) => (isDead ? fail("ENOSPC") : writeSync(file, bytes)),
    });
    for (const entry of numbers(3)) {
      log.record(entry);
      log.flush();
    }
    assert.deepEqual(
      reports.map(({ event }) => event),
      ["audit.failed"],
    );
    isDead = false;
    log.flush();
    assert.deepEqual(await entries(folder), numbers(3));
  });

  it("retries writing by itself", async () => {
    await using folder = await SampleFolder.create();
    const tries = Promise.withResolvers<void>();
    let count = 0;
    using log = new AuditLog(folder.path, {
      retryAfter: 1,
      write: (file, bytes) => {
        if (++count < 3) throw new Error("EIO");
        tries.resolve();
        return writeSync(file, bytes);
      },
    });
    log.record({ n: 0 });
    // What waits to be tried again keeps no process alive.
    const alive = setInterval(() => {}, 1000);
    await tries.promise;
    clearInterval(alive);
    log.flush();
    assert.deepEqual(await entries(folder), numbers(1));
  });

  it("counts entries for which there is no room, in the log and in the audit", async () => {
    await using folder = await SampleFolder.create();
    const { reports, options } = reporting({ maxWaiting: 120 });
    using log = new AuditLog(folder.path, options);
    for (const entry of numbers(10)) log.record(entry);
    log.flush();
    const [first, second, third, gap] = (await entries(folder)) as Record<string, unknown>[];
    assert.deepEqual([first, second, third], numbers(3));
    assert.equal(gap?.dropped, 7);
    assert.deepEqual(
      reports.map(({ event }) => event),
      ["audit.full"],
    );
    log.record({ n: 10 });
    log.flush();
    assert.deepEqual((await entries(folder)).at(-1), { n: 10 });
  });

  it("reports how many entries are lost when it closes", async () => {
    await using folder = await SampleFolder.create();
    const { reports, options } = reporting();
    const log = new AuditLog(folder.path, { ...options, write: () => fail("EIO") });
    log.record({ n: 0 });
    await new Promise(setImmediate);
    log.record({ n: 1 });
    log[Symbol.dispose]();
    assert.equal(reports.at(-1)?.event, "audit.lost");
    assert.equal(reports.at(-1)?.entries, 2);
  });

  it("has recorded an entry before anything is sent after it", async () => {
    await using folder = await SampleFolder.create();
    using log = new AuditLog(folder.path);
    const path = join(folder.path, AUDIT_FILE);
    const seen: string[] = [];
    const writable = new Writable({
      write: (_bytes, _encoding, done) => {
        seen.push(existsSync(path) ? readFileSync(path, "utf8") : "");
        done();
      },
    });
    const channel = streamChannel(new PassThrough(), writable);
    // What was sent first had the turn's write scheduled before there was anything to record.
    void channel.send("{}");
    for (const entry of numbers(3)) log.record(entry);
    void channel.send("{}");
    await until(() => seen.length > 0);
    assert.equal(seen[0]?.split("\n").length, 5, "three entries, their seal, the last line end");
  });

  it("starts a new line if another process left half a line", async () => {
    await using folder = await SampleFolder.create();
    await mkdir(join(folder.path, AUDIT_FOLDER), { recursive: true });
    await writeFile(join(folder.path, AUDIT_FILE), '{"n":0}\n{"n":');
    using log = new AuditLog(folder.path);
    log.record({ n: 1 });
    log.flush();
    assert.deepEqual(await entries(folder), numbers(2));
  });

  it("writes a line again completely if the disk took half of it", async () => {
    await using folder = await SampleFolder.create();
    using log = new AuditLog(folder.path, {
      write: (file, bytes) => writeSync(file, bytes.subarray(0, Math.min(bytes.length, 400))),
    });
    for (const entry of numbers(5)) log.record(entry);
    log.flush();
    assert.deepEqual(await entries(folder), numbers(5));
  });

  it("does not fail if its folder cannot be created", async () => {
    await using folder = await SampleFolder.create();
    await writeFile(folder.path, "a file in its place");
    const { reports, options } = reporting();
    const log = new AuditLog(folder.path, options);
    log.record({ n: 0 });
    log[Symbol.dispose]();
    assert.deepEqual(
      reports.map(({ event }) => event),
      ["audit.failed", "audit.lost"],
    );
  });

  it("shortens entries that are not JSON, or too long", async () => {
    await using folder = await SampleFolder.create();
    using log = new AuditLog(folder.path, { maxLine: 100 });
    log.record({ n: 1n });
    log.record({ tool: "x", arguments: "y".repeat(200) });
    log.flush();
    const [unreadable, long] = (await entries(folder)) as Record<string, unknown>[];
    assert.match(String(unreadable?.unreadable), /BigInt/);
    assert.deepEqual(long, { tool: "x", arguments: "(227 characters in all)" });
  });
});

import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { hash as hashOf } from "node:crypto";
import { appendFileSync, mkdirSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { until } from "../../../test/support/until.ts";
import { AuditLog, firstHash } from "./audit-log.ts";
import { AUDIT_FILE } from "./audit-names.ts";
import { verifyAudit } from "./verify-audit.ts";

/** Two writers at once, whose entries are sealed in two parts each. */
function written(folder: SampleFolder, anchor?: string): string {
  using one = new AuditLog(folder.path, { anchor });
  using other = new AuditLog(folder.path);
  for (let part = 0; part < 2; part++) {
    for (let n = 0; n < 5; n++) {
      one.record({ time: "t", n });
      other.record({ time: "t", n, text: "\u2028 and \r" });
    }
    one.flush();
    other.flush();
  }
  return join(folder.path, AUDIT_FILE);
}

function edit(file: string, change: (lines: string[]) => string[]): void {
  writeFileSync(file, change(readFileSync(file, "utf8").split("\n")).join("\n"));
}

describe("verifyAudit()", () => {
  it("confirms what nobody has touched, of several writers and files", async () => {
    await using folder = await SampleFolder.create();
    {
      using log = new AuditLog(folder.path, { maxFile: 2_000 });
      for (let n = 0; n < 100; n++) {
        log.record({ time: "t", n });
        log.flush();
      }
    }
    written(folder);
    assert.deepEqual(await verifyAudit(folder.path), {
      sealed: 120,
      unsealed: 0,
      damaged: 0,
      cut: 0,
      writers: 3,
      repairs: [],
      problems: [],
    });
  });

  it("confirms entries that waited for the disk while those before them were sealed", async () => {
    await using folder = await SampleFolder.create();
    let room = Infinity;
    const write = (file: number, bytes: Buffer): number => {
      if (room === 0) throw new Error("No space left");
      const taken = writeSync(file, bytes.subarray(0, room));
      room -= taken;
      return taken;
    };
    {
      using log = new AuditLog(folder.path, { write, retryAfter: 100_000 });
      for (const nextRoom of [0, Infinity, 25, Infinity, 0, Infinity]) {
        log.record({ time: "t", text: "\u00e4".repeat(9) });
        log.flush();
        room = nextRoom;
        log.record({ time: "t", text: "waits" });
        log.flush();
        // The entries that are in the file are sealed meanwhile.
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
    const { sealed, unsealed, problems } = await verifyAudit(folder.path);
    assert.deepEqual({ sealed, unsealed, problems }, { sealed: 12, unsealed: 0, problems: [] });
  });

  it("finds an entry that was changed, removed, added or moved", async () => {
    const changes: readonly [(lines: string[]) => string[], RegExp][] = [
      [(lines) => lines.with(2, lines[2]?.replace('"n":2', '"n":7') ?? ""), /were changed/],
      [(lines) => lines.toSpliced(2, 1), /One entry is missing among the 5/],
      [(lines) => lines.toSpliced(2, 0, lines[2] ?? ""), /One entry is too many/],
      [(lines) => lines.with(2, lines[3] ?? "").with(3, lines[2] ?? ""), /were changed/],
      [(lines) => lines.with(2, "{"), /One entry is missing/],
    ];
    for (const [change, says] of changes) {
      await using folder = await SampleFolder.create();
      edit(written(folder), change);
      const { problems, sealed } = await verifyAudit(folder.path);
      assert.equal(problems.length, 1);
      assert.match(problems[0]?.says ?? "", says);
      assert.match(problems[0]?.where ?? "", /^audit\/audit\.ndjson:[567]$/);
      assert.equal(sealed, 15, "the other entries are as they were");
    }
  });

  it("finds an entry that was added at either end, or under whatever name", async () => {
    const wrote = async (folder: SampleFolder): Promise<string> => {
      using log = new AuditLog(folder.path);
      for (let n = 0; n < 3; n++) {
        log.record({ time: "t", n });
        log.flush();
        await until(async () => (await sealsIn(folder)) > n);
      }
      return join(folder.path, AUDIT_FILE);
    };
    const sealsIn = async ({ path }: SampleFolder): Promise<number> =>
      readFileSync(join(path, AUDIT_FILE), "utf8").split('{"seal"').length - 1;
    const seal = (writer: string, line: string): string => {
      const hash = hashOf("sha256", `${firstHash(writer)}${line}`);
      return `${JSON.stringify({ seal: { lines: 1, hash }, time: "t", writer })}\n`;
    };
    const additions: ((own: string) => string)[] = [
      () => `{"time":"t","n":9}\n`,
      (own) => `{"time":"t","n":9,"writer":"${own}"}\n`,
      () => `{"time":"t","n":9,"writer":"made-up"}\n`,
      () => {
        const line = `{"time":"t","n":9,"writer":"made-up"}\n`;
        return line + seal("made-up", line);
      },
      () => {
        const line = `{"time":"t","n":9,"writer":"made-up"}\n`;
        return line + seal("made-up", line).replace('"},', '","mac":"00"},');
      },
    ];
    const ends: ((before: string, added: string) => string)[] = [
      (before, added) => before + added,
      (before, added) => added + before,
    ];
    for (const [at, addition] of additions.entries()) {
      for (const put of ends) {
        await using folder = await SampleFolder.create();
        const file = await wrote(folder);
        assert.deepEqual((await verifyAudit(folder.path)).problems, []);
        const before = readFileSync(file, "utf8");
        const [, own = ""] = /"writer":"([^"]+)"/.exec(before) ?? [];
        writeFileSync(file, put(before, addition(own)));
        const { problems, sealed } = await verifyAudit(folder.path);
        assert.equal(problems.length, 1, String(at));
        assert.ok(sealed <= 3, String(at));
        assert.match(problems[0]?.says ?? "", /added|too many/);
      }
    }
  });

  it("finds seals that were made anew without the key", async () => {
    await using folder = await SampleFolder.create();
    const file = written(folder);
    const writer = "made-up";
    const line = `{"time":"t","n":9,"writer":"${writer}"}\n`;
    const hash = hashOf("sha256", `${firstHash(writer)}${line}`);
    writeFileSync(file, `${line}{"seal":{"lines":1,"hash":"${hash}"},"writer":"${writer}"}\n`);
    const { problems, sealed } = await verifyAudit(folder.path);
    assert.deepEqual([problems.length, sealed], [1, 0]);
  });

  it("reports entries without a writer, also those that were there before all others", async () => {
    await using folder = await SampleFolder.create();
    const file = join(folder.path, AUDIT_FILE);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `{"time":"t","n":1}\n`);
    written(folder);
    const { problems, sealed } = await verifyAudit(folder.path);
    const where = "audit/audit.ndjson:1";
    assert.deepEqual([problems, sealed], [[{ where, says: "This entry was added" }], 20]);
  });

  it("confirms the entries of a process that was killed, also its very first", async () => {
    await using folder = await SampleFolder.create();
    const module = JSON.stringify(new URL("audit-log.ts", import.meta.url).href);
    const program = `
      const { AuditLog } = await import(${module});
      const log = new AuditLog(${JSON.stringify(folder.path)});
      for (let n = 0; n < 9; n++) { log.record({ time: "t", n }); log.flush(); }
      process.kill(process.pid, "SIGKILL");`;
    const args = ["--input-type=module", "--eval", program];
    assert.equal(spawnSync(process.execPath, args).signal, "SIGKILL");
    const { sealed, unsealed, problems } = await verifyAudit(folder.path);
    assert.deepEqual({ sealed, unsealed, problems }, { sealed: 9, unsealed: 0, problems: [] });
  });

  it("confirms entries that were written while the key could not be read", async () => {
    await using folder = await SampleFolder.create();
    const events: string[] = [];
    using log = new AuditLog(folder.path, { report: (event) => events.push(event) });
    const key = join(folder.path, dirname(AUDIT_FILE), "key");
    mkdirSync(key, { recursive: true });
    for (let n = 0; n < 3; n++) {
      log.record({ time: "t", n });
      log.flush();
    }
    assert.deepEqual(events, ["audit.not-sealed"]);
    const written = readFileSync(join(folder.path, AUDIT_FILE), "utf8").split("\n");
    assert.deepEqual(
      written.map((line) => /"n":(\d)/.exec(line)?.[1]),
      ["0", "1", "2", undefined],
    );
    rmSync(key, { recursive: true });
    log.record({ time: "t", n: 3 });
    log.flush();
    const { sealed, unsealed, problems } = await verifyAudit(folder.path);
    assert.deepEqual({ sealed, unsealed, problems }, { sealed: 4, unsealed: 0, problems: [] });
  });

  for (const seal of ['{"lines":1,"hash":5}', '{"lines":"x","hash":""}', '{},"seal":null']) {
    it(`finds a seal that was changed to ${seal}`, async () => {
      await using folder = await SampleFolder.create();
      edit(written(folder), (lines) =>
        lines.map((line) => line.replace(/^\{"seal":\{[^}]*\}/, `{"seal":${seal}`)),
      );
      const { problems, sealed } = await verifyAudit(folder.path);
      assert.equal(sealed, 0);
      assert.match(problems[0]?.says ?? "", /This seal was changed/);
    });
  }

  it("counts what no seal confirms", async () => {
    await using folder = await SampleFolder.create();
    const file = written(folder);
    edit(file, (lines) => lines.filter((line) => !line.startsWith('{"seal"')));
    appendFileSync(file, `{"time":"t"}\nbroken\n`);
    const { unsealed, damaged, sealed } = await verifyAudit(folder.path);
    assert.deepEqual({ unsealed, damaged, sealed }, { unsealed: 20, damaged: 1, sealed: 0 });
  });

  it("takes no longer for one long line than for many short ones", async () => {
    const cost = async (lines: number, length: number): Promise<number> => {
      await using folder = await SampleFolder.create();
      const file = join(folder.path, AUDIT_FILE);
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, `{"text":"${"x".repeat(length)}"}\n`.repeat(lines));
      const before = process.cpuUsage();
      assert.equal((await verifyAudit(folder.path)).problems.length, lines);
      const { user, system } = process.cpuUsage(before);
      return user + system;
    };
    const [short, long] = [await cost(2_500, 10_000), await cost(1, 25_000_000)];
    assert.ok(long < 10 * short, `${long} µs, and ${short} µs for short ones`);
  });

  it("finds with an anchor what was removed together with its seals", async () => {
    await using folder = await SampleFolder.create();
    await using elsewhere = await SampleFolder.create();
    mkdirSync(elsewhere.path);
    const anchor = join(elsewhere.path, "anchor");
    const file = written(folder, anchor);
    assert.deepEqual((await verifyAudit(folder.path, anchor)).problems, []);
    const [sealed = ""] = readFileSync(anchor, "utf8").split("\n");
    const { writer } = JSON.parse(sealed) as { writer: string };
    edit(file, (lines) => lines.filter((line) => !line.includes(writer)));
    assert.deepEqual((await verifyAudit(folder.path)).problems, []);
    const { problems } = await verifyAudit(folder.path, anchor);
    assert.match(problems[0]?.says ?? "", /The audit has no such seal/);
    await assert.rejects(
      verifyAudit(folder.path, `${anchor}-none`),
      /Cannot read the anchor .*there is no such file/,
    );
    await assert.rejects(verifyAudit(folder.path, elsewhere.path), /: it is not a file$/);
  });

  it("reports an anchor that cannot be written once, and waits for nobody to read it", async () => {
    await using folder = await SampleFolder.create();
    await using elsewhere = await SampleFolder.create();
    mkdirSync(elsewhere.path);
    const pipe = join(elsewhere.path, "pipe");
    execFileSync("mkfifo", [pipe]);
    const reports: string[] = [];
    const options = {
      anchor: pipe,
      anchorAfter: 1,
      report: (event: string) => reports.push(event),
    };
    {
      using log = new AuditLog(folder.path, options);
      for (let n = 0; n < 2; n++) {
        log.record({ time: "t", n });
        log.flush();
        await until(async () => (await verifyAudit(folder.path)).sealed > n);
      }
      log.record({ time: "t", n: 2 });
    }
    assert.deepEqual(reports, ["audit.not-anchored"]);
    assert.equal((await verifyAudit(folder.path)).sealed, 3);
  });
});

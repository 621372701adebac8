import { type FileHandle, mkdtempDisposable, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";

import { Database } from "../src/store/database.ts";
import { SessionLog } from "../src/store/session/session-log.ts";
import type { Bench, Sample } from "./harness/bench.ts";

const OURS = "SQLite, a row a commit and session";
const ROWS = "SQLite, a row an event";
const FILES = "a file for each session";
const FILE = "one file";

const SESSIONS = 100;
/** Events of each session that are ready at once. */
const AT_ONCE = 4;
const TEXT = JSON.stringify({ kind: "update", update: { text: "word ".repeat(24) } });

/** Writes one round of events to the disk, and resolves when all are stored. */
type Write = (round: number) => Promise<void>;

/** Ways to store the events of many sessions, each on disk before it is acknowledged. */
export const sessionLogBench: Bench = {
  name: "session-log",
  plan: async ({ quick }) => {
    const rounds = quick ? 20 : 100;
    const variant = (
      name: string,
      start: (folder: string) => Promise<[Write, AsyncDisposable]>,
    ) => ({
      name,
      measure: () => measure(rounds, start),
    });
    return {
      describe: `${SESSIONS} sessions, ${AT_ONCE} events of each at a time, ${rounds} times`,
      rounds: quick ? 3 : 5,
      quantities: [
        { key: "cpu", label: "CPU an event", unit: "µs", digits: 1 },
        { key: "wall", label: "until it is on disk", unit: "ms", digits: 1 },
        { key: "stall", label: "longest stall", unit: "ms", digits: 0 },
      ],
      variants: [
        variant(OURS, ours),
        variant(ROWS, rowForEach),
        variant(FILES, fileForEach),
        variant(FILE, oneFile),
      ],
      comparisons: [
        { quantity: "cpu", of: OURS, against: ROWS },
        { quantity: "cpu", of: OURS, against: FILES },
        { quantity: "cpu", of: OURS, against: FILE },
      ],
    };
  },
};

async function measure(
  rounds: number,
  start: (folder: string) => Promise<[Write, AsyncDisposable]>,
): Promise<Sample> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
  const [write, end] = await start(folder.path);
  for (let round = 0; round < 5; round++) await write(round);
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const before = process.cpuUsage();
  const began = performance.now();
  for (let round = 5; round < rounds + 5; round++) await write(round);
  const wall = (performance.now() - began) / rounds;
  const { user, system } = process.cpuUsage(before);
  delay.disable();
  await end[Symbol.asyncDispose]();
  const cpu = (user + system) / (rounds * SESSIONS * AT_ONCE);
  return { cpu, wall, stall: delay.max / 1e6 };
}

async function ours(folder: string): Promise<[Write, AsyncDisposable]> {
  const log = await SessionLog.open(folder);
  const keys: number[] = [];
  for (let at = 0; at < SESSIONS; at++) {
    const session = { id: String(at), cwd: "/", agent: "x", notes: {} };
    keys.push((await log.create(session)).key);
  }
  const write: Write = async () => {
    let last: Promise<void> | undefined;
    for (const key of keys) {
      for (let at = 0; at < AT_ONCE; at++) last = log.append(key, "agent", TEXT).stored;
    }
    await last;
  };
  return [write, log];
}

async function rowForEach(folder: string): Promise<[Write, AsyncDisposable]> {
  const database = await Database.open(join(folder, "rows.sqlite"), [
    `CREATE TABLE event (session INTEGER, seq INTEGER, at INTEGER, direction TEXT, message TEXT,
       PRIMARY KEY (session, seq)) STRICT, WITHOUT ROWID`,
  ]);
  const write: Write = (round) =>
    database.change((sqlite) => {
      const insert = sqlite.prepare("INSERT INTO event VALUES (?, ?, ?, ?, ?)");
      for (let session = 0; session < SESSIONS; session++) {
        for (let at = 1; at <= AT_ONCE; at++) {
          insert.run(session, round * AT_ONCE + at, Date.now(), "agent", TEXT);
        }
      }
    });
  return [write, { [Symbol.asyncDispose]: async () => database[Symbol.dispose]() }];
}

async function fileForEach(folder: string): Promise<[Write, AsyncDisposable]> {
  const files: FileHandle[] = [];
  for (let at = 0; at < SESSIONS; at++) files.push(await open(join(folder, `${at}.log`), "a"));
  const write: Write = async (round) => {
    await Promise.all(
      files.map(async (file) => {
        await file.write(linesOf(round));
        await file.datasync();
      }),
    );
  };
  return [write, { [Symbol.asyncDispose]: () => closeAll(files) }];
}

async function oneFile(folder: string): Promise<[Write, AsyncDisposable]> {
  const file = await open(join(folder, "all.log"), "a");
  const write: Write = async (round) => {
    await file.write(linesOf(round).repeat(SESSIONS));
    await file.datasync();
  };
  return [write, { [Symbol.asyncDispose]: () => closeAll([file]) }];
}

function linesOf(round: number): string {
  let lines = "";
  for (let at = 1; at <= AT_ONCE; at++) {
    lines += `[${round * AT_ONCE + at},${Date.now()},"agent",${TEXT}]\n`;
  }
  return lines;
}

async function closeAll(files: readonly FileHandle[]): Promise<void> {
  for (const file of files) await file.close();
}

// Stores events of sessions and waits for their acknowledgement: from a process at the other end of a
// pipe, from the log of one machine, or from the log of a worker, which waits for NATS. Reports how many
// there are in a second, and their cost.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Log } from "../../src/base/log.ts";
import { FleetConnection } from "../../src/fleet/connection/connect.ts";
import { WorkerStore } from "../../src/fleet/store/worker-store.ts";
import { Subjects } from "../../src/fleet/subjects.ts";
import type { SessionStore } from "../../src/session/store.ts";
import { SessionLog } from "../../src/store/session/session-log.ts";
import { sessionUpdate } from "../messages.ts";

const [mode = "", count = "", url = ""] = process.argv.slice(2);
const events = Number(count);
const SESSIONS = 20;
/** Events that wait for their acknowledgement: so many groups of so many. */
const GROUPS = 4;
const GROUP = 64;
const ALONE = 200;

/** Stores an event in one of the sessions, and resolves when it is acknowledged. */
type Append = (session: number, text: string) => Promise<void>;

interface Target extends AsyncDisposable {
  readonly append: Append;
}

/** The least that acknowledges: a process reads lines, and answers with how many it has read. */
const COUNTER =
  "let n=0;process.stdin.on('data',(d)=>{for(let at=-1;(at=d.indexOf(10,at+1))>=0;)n++;" +
  "process.stdout.write(n+'\\n')})";

function pipe(): Target {
  const child = spawn(process.execPath, ["-e", COUNTER], { stdio: ["pipe", "pipe", "inherit"] });
  const waiting: { readonly number: number; readonly resolve: () => void }[] = [];
  let sent = 0;
  let lines = "";
  child.stdout.on("data", (data: Buffer) => {
    const read = Number(data.toString("latin1").trimEnd().split("\n").at(-1));
    while ((waiting[0]?.number ?? Infinity) <= read) waiting.shift()?.resolve();
  });
  return {
    append: (_, text) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.push({ number: ++sent, resolve });
      // What is written in one turn of the event loop leaves together, as from the other two.
      if (lines === "") {
        setImmediate(() => {
          child.stdin.write(lines);
          lines = "";
        });
      }
      lines += `${text}\n`;
      return promise;
    },
    [Symbol.asyncDispose]: async () => void child.stdin.end(),
  };
}

async function inStore(store: SessionStore): Promise<Append> {
  const keys: number[] = [];
  for (let at = 0; at < SESSIONS; at++) {
    const id = crypto.randomUUID();
    const { key } = await store.create({ id, cwd: "/tmp", agent: "bench", notes: {} });
    keys.push(key);
  }
  return (session, text) => store.append(keys[session] ?? 0, "agent", text).stored;
}

async function open(folder: string): Promise<Target> {
  if (mode === "pipe") return pipe();
  if (mode === "log") {
    const log = await SessionLog.open(folder);
    const append = await inStore(log);
    return { append, [Symbol.asyncDispose]: () => log[Symbol.asyncDispose]() };
  }
  const subjects = new Subjects("bench");
  const connection = await FleetConnection.open({ url, subjects, name: "bench" });
  const store = await WorkerStore.open({
    connection: connection.nats,
    subjects,
    data: folder,
    isAlive: () => false,
    lost: () => {},
    log: new Log("error"),
  });
  return {
    append: await inStore(store),
    async [Symbol.asyncDispose]() {
      await store[Symbol.asyncDispose]();
      await connection[Symbol.asyncDispose]();
    },
  };
}

async function stream(append: Append, sessions: number, many: number): Promise<number> {
  const begun = performance.now();
  const groups: Promise<unknown>[] = [];
  for (let at = 0; at < many; at += GROUP) {
    const group = Array.from({ length: GROUP }, (_, place) =>
      append((at + place) % sessions, sessionUpdate(at + place)),
    );
    groups.push(Promise.all(group));
    if (groups.length === GROUPS) await groups.shift();
  }
  await Promise.all(groups);
  return (many * 1000) / (performance.now() - begun);
}

/** Microseconds of one event, where the next is stored after it. */
async function alone(append: Append): Promise<number> {
  const times: number[] = [];
  for (let at = 0; at < ALONE; at++) {
    const begun = performance.now();
    await append(0, sessionUpdate(at));
    times.push((performance.now() - begun) * 1000);
  }
  return times.toSorted((one, other) => one - other)[ALONE / 2] ?? NaN;
}

const folder = mkdtempSync(join(tmpdir(), "trunkline-bench-"));
try {
  await using target = await open(folder);
  const { append } = target;
  await stream(append, SESSIONS, events / 4);
  const before = process.cpuUsage();
  const one = await stream(append, 1, events);
  const many = await stream(append, SESSIONS, events);
  const { user, system } = process.cpuUsage(before);
  const latency = await alone(append);
  process.send?.({ one, many, latency, cpu: (user + system) / (2 * events) });
} finally {
  rmSync(folder, { recursive: true });
}
process.disconnect?.();

// Forwards updates of many sessions from an agent's output to a client: as a bare loop, through
// sessions that store all of them, or through sessions with a store that keeps nothing. Reports the
// cost of an update and the memory of an idle session.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, type Readable } from "node:stream";

import { Log } from "../../src/base/log.ts";
import { OWNER } from "../../src/base/principal.ts";
import { AcpDoor } from "../../src/protocol/acp/door.ts";
import { AcpConversation } from "../../src/protocol/acp/serve.ts";
import type { SessionUpdate, Turn } from "../../src/session/agent.ts";
import type { SessionClient } from "../../src/session/client/client.ts";
import { resolveSessionLimits } from "../../src/session/limits.ts";
import { Sessions } from "../../src/session/sessions.ts";
import { SessionLog } from "../../src/store/session/session-log.ts";
import { streamChannel } from "../../src/wire/channel/stream.ts";

const [mode = "", ...sizes] = process.argv.slice(2);
const [open = 0, streaming = 0, each = 0] = sizes.map(Number);
const warmUp = Math.floor(each / 5);
/** The reader parses every line and may fall behind; its cost is not measured. */
const PATIENCE = 60_000;

/** Starts the agent. */
function source(count: number, ids: readonly string[]): Readable {
  const program = join(import.meta.dirname, "update-source.mjs");
  const args = [program, String(count), ...ids];
  return spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] }).stdout;
}

/** Microseconds of CPU for each update. */
async function cpuOf(count: number, work: () => Promise<void>): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / count;
}

/** The smallest relay: find the lines, parse, write. */
function pass(input: Readable): Promise<void> {
  let rest = "";
  input.setEncoding("utf8").on("data", (text: string) => {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    let out = "";
    for (const line of lines) out += `${JSON.stringify(JSON.parse(line))}\n`;
    if (process.stdout.write(out)) return;
    input.pause();
    process.stdout.once("drain", () => input.resume());
  });
  return new Promise((resolve) => input.on("end", resolve));
}

async function bare(): Promise<object> {
  const ids = Array.from({ length: streaming }, () => crypto.randomUUID());
  await pass(source(warmUp, ids));
  return { cpu: await cpuOf(each * streaming, () => pass(source(each, ids))), memory: 0 };
}

async function sessions(): Promise<object> {
  const folder = mkdtempSync(join(tmpdir(), "trunkline-bench-"));
  process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
  const log = await SessionLog.open(folder);
  if (mode === "unstored") log.append = appendNothing();
  const turns = new Map<string, Turn>();
  const over = Promise.withResolvers<void>();
  const all = new Sessions({
    store: log,
    limits: {
      // Without a rate limit, so that every update is sent.
      ...resolveSessionLimits({ "session/update": { rate: { limit: 1e12, windowMs: 1 } } }),
      backlog: { updates: Infinity, characters: Infinity },
    },
    log: new Log("error"),
    agent: () => ({
      name: "bench",
      open: async ({ sessionId }) => ({
        settings: {},
        prompt: async (turn) => {
          turns.set(sessionId, turn);
          await over.promise;
          return { stopReason: "end_turn" };
        },
        [Symbol.asyncDispose]: async () => {},
      }),
    }),
  });
  const door = new AcpDoor({ sessions: () => Promise.resolve(all) });
  const input = new PassThrough();
  const channel = streamChannel(input, process.stdout, { limits: { closeGrace: PATIENCE } });
  const conversation = new AcpConversation(door, channel, { peer: door.peerOptions });
  const { ids, memory } = await openMany(all);
  await door.sessions();
  for (const [id, sessionId] of ids.slice(0, streaming).entries()) {
    const params = { sessionId, prompt: [{ type: "text", text: "x" }] };
    const request = { jsonrpc: "2.0", id, method: "session/prompt", params };
    input.write(`${JSON.stringify(request)}\n`);
  }
  while (turns.size < streaming) await new Promise(setImmediate);
  const streamed = [...turns.keys()];
  const relay = async (count: number): Promise<void> => {
    await hear(source(count, streamed), turns);
    await log.flush();
  };
  await relay(warmUp);
  const cpu = await cpuOf(each * streaming, () => relay(each));
  over.resolve();
  await conversation.close(PATIENCE);
  await all[Symbol.asyncDispose]();
  await log[Symbol.asyncDispose]();
  return { cpu, memory };
}

/** Acknowledges what was appended in one turn of the event loop, and stores nothing. */
function appendNothing(): SessionLog["append"] {
  let waiting: ReturnType<SessionLog["append"]> | undefined;
  let last = 0;
  return () => {
    last++;
    waiting ??= {
      // Shown updates need a number.
      get last() {
        return last;
      },
      first: 0,
      lines: "",
      failure: undefined,
      stored: new Promise((resolve) => {
        setImmediate(() => {
          waiting = undefined;
          resolve();
        });
      }),
    };
    return waiting;
  };
}

/** An attached client. */
const onlooker: SessionClient = {
  name: "onlooker",
  principal: OWNER,
  isGone: false,
  capabilities: {
    readTextFile: false,
    writeTextFile: false,
    terminal: false,
    forms: false,
    pages: false,
    notices: false,
    compaction: false,
  },
  show: () => undefined,
  ask: () => Promise.reject(new Error("Nobody is there")),
};

/** Kilobytes of memory of one open session with a client attached and no messages. */
async function openMany(all: Sessions): Promise<{ ids: string[]; memory: number }> {
  const place = { cwd: "/tmp", additionalDirectories: [], mcpServers: [] };
  // Code that is loaded and compiled once must not count for the sessions.
  for (let at = 0; at < 20; at++) await all.create(place);
  const before = usedMemory();
  const ids: string[] = [];
  for (let at = 0; at < open; at++) {
    const session = await all.create(place);
    if (at >= streaming) session.attach(onlooker);
    ids.push(session.id);
  }
  return { ids, memory: (usedMemory() - before) / open / 1024 };
}

function usedMemory(): number {
  globalThis.gc?.();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

interface Line {
  readonly params: { readonly sessionId: string; readonly update: SessionUpdate };
}

function hear(input: Readable, turns: ReadonlyMap<string, Turn>): Promise<void> {
  const ended = Promise.withResolvers<void>();
  let heard = 0;
  streamChannel(input, new PassThrough()).receive({
    message: (text) => {
      const { params } = JSON.parse(text) as Line;
      const stored = turns.get(params.sessionId)?.update(params.update);
      return ++heard % 1024 === 0 ? stored : undefined;
    },
    fault: () => {},
    end: () => ended.resolve(),
  });
  return ended.promise;
}

process.send?.(await (mode === "bare" ? bare() : sessions()));
process.disconnect?.();

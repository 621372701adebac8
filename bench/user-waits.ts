import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Delivery } from "../src/session/client/delivery.ts";
import { SUMMARY } from "../src/session/turn/replay.ts";
import { Transcript } from "../src/session/turn/transcript.ts";
import { SessionLog } from "../src/store/session/session-log.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { readLines } from "./harness/line-reader.ts";
import { Program, ROOT } from "./harness/program.ts";
import { DeltaModel } from "./servers/delta-model.ts";

const TRUNKLINE = join(ROOT, "dist/trunkline.js");
const PLAIN = join(ROOT, "bench/servers/plain-read.mjs");
const EVENTS = 100_000;
const TURNS = 1_000;
const SESSIONS = 10_000;
const FINDINGS = 2_000;
const FILES = 100;
const LINES = 400;

const LOAD = `session/load of ${EVENTS} events, with the first prompt`;
const LIST = `session list of ${SESSIONS} sessions`;
const IMPORT = `review import of SARIF, a thread of ${FINDINGS}`;
const PLAIN_EVENTS = "plain read of the events";
const PLAIN_SESSIONS = "plain read of the sessions";
const PLAIN_FINDINGS = "plain read of the SARIF file and the sources, a thread";

/** What a person waits for where there is much: each beside a program that only reads the same. */
export const userWaits: Bench = {
  name: "user-waits",
  plan: async ({ quick }) => {
    const isBuilt = existsSync(TRUNKLINE);
    const folder = mkdtempSync(join(tmpdir(), "trunkline-bench-"));
    process.on("exit", () => rmSync(folder, { recursive: true, force: true }));
    const [long, many, repository] = ["long", "many", "repository"].map((n) => join(folder, n)) as [
      string,
      string,
      string,
    ];
    const model = await DeltaModel.start(1);
    let id = "";
    if (isBuilt) {
      id = await fillLong(long);
      await fillSessions(many, SESSIONS);
      fillRepository(repository);
      await useOnce(folder, long, model);
    }
    const read = (what: string, path: string, per = 1) => ({
      measure: async () => ({ wall: run([PLAIN, what, path], folder) / per }),
    });
    return {
      describe: "from the request, or from the start of the program, to the end",
      rounds: quick ? 5 : 11,
      quantities: [{ key: "wall", label: "wall", unit: "ms", digits: 2 }],
      variants: isBuilt
        ? [
            { name: PLAIN_EVENTS, ...read("events", long) },
            { name: LOAD, measure: () => load(folder, long, id, model) },
            { name: PLAIN_SESSIONS, ...read("sessions", many) },
            {
              name: LIST,
              measure: async () => ({ wall: run([TRUNKLINE, "session", "list"], folder, many) }),
            },
            { name: PLAIN_FINDINGS, ...read("findings", repository, FINDINGS) },
            { name: IMPORT, measure: async () => importAll(folder, repository) },
          ]
        : [],
      skipped: isBuilt ? [] : [{ name: LOAD, reason: "npm run build makes dist" }],
      comparisons: [
        { row: LOAD, quantity: "wall", of: LOAD, atMost: 500, beside: PLAIN_EVENTS },
        { row: LIST, quantity: "wall", of: LIST, atMost: 300, beside: PLAIN_SESSIONS },
        { row: IMPORT, quantity: "wall", of: IMPORT, atMost: 0.3, beside: PLAIN_FINDINGS },
      ],
      end: () => model[Symbol.asyncDispose](),
    };
  },
};

/** Turns after which the agent summarises the conversation, as it does where a window is full. */
const SUMMARISED = 200;

/** A session whose turns are all text, in small pieces, as a session writes it. */
async function fillLong(data: string): Promise<string> {
  mkdirSync(data, { recursive: true });
  await using log = await SessionLog.open(data, { isHasty: true });
  const id = crypto.randomUUID();
  const { key } = await log.create({ id, cwd: tmpdir(), agent: "trunkline", notes: {} });
  const delivery = new Delivery(0, { rate: undefined, maxSize: 1024, show: () => {} });
  const transcript = new Transcript(log, key, delivery);
  const chunks = EVENTS / TURNS - 2;
  let summaryAfter = 0;
  for (let turn = 0; turn < TURNS; turn++) {
    const [turnId, messageId] = [crypto.randomUUID(), crypto.randomUUID()];
    const prompt = [{ type: "text", text: `Question ${turn}` }];
    void transcript.record({ kind: "prompt", turnId, prompt, by: "bench" });
    for (let n = 0; n < chunks; n++) {
      const content = { type: "text", text: `word ${n} of it ` };
      void transcript.say({ sessionUpdate: "agent_message_chunk", content, messageId });
      if (n % 7 === 0) await log.flush();
    }
    if (turn % SUMMARISED === SUMMARISED / 2) {
      const content = { type: "text", text: "The conversation was compacted." };
      const _meta = { [SUMMARY]: "What was said so far.", "trunkline/aside": true };
      void transcript.say({ sessionUpdate: "agent_message_chunk", content, _meta });
      summaryAfter = turn * (EVENTS / TURNS);
    }
    void transcript.record({ kind: "end", turnId, stopReason: "end_turn" });
  }
  await log.describe(key, { notes: { summaryAfter } });
  await log.release(key);
  return id;
}

/** Sessions of several folders, which have a title and nothing else. */
export async function fillSessions(data: string, count: number): Promise<void> {
  mkdirSync(data, { recursive: true });
  await using log = await SessionLog.open(data, { isHasty: true });
  for (let n = 0; n < count; n++) {
    const cwd = `/home/ada/project-${n % 50}`;
    const title = `Mend the part that is number ${n}`;
    const notes = { chosen: { mode: "code", model: "fake/m" }, turnAfter: 40 };
    const created = { id: crypto.randomUUID(), cwd, agent: "trunkline", title, notes };
    await log.release((await log.create(created)).key);
  }
}

/** Files, and what an analyser has found in them. */
function fillRepository(repository: string): void {
  mkdirSync(repository, { recursive: true });
  const lines = (file: number): string =>
    Array.from({ length: LINES }, (_, n) => `const value${file}x${n} = compute(${n});\n`).join("");
  for (let file = 0; file < FILES; file++) {
    writeFileSync(join(repository, `${file}.js`), lines(file));
  }
  const git = (...args: string[]): unknown => execFileSync("git", args, { cwd: repository });
  git("init", "--quiet");
  git("add", "--all");
  git("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "--quiet", "--message=x");
  const results = Array.from({ length: FINDINGS }, (_, n) => ({
    ruleId: `rule-${n % 40}`,
    level: "warning",
    message: { text: `Found number ${n}` },
    locations: [
      {
        physicalLocation: {
          artifactLocation: { uri: `${n % FILES}.js` },
          region: { startLine: 1 + ((n * 7) % LINES) },
        },
      },
    ],
  }));
  const tool = { driver: { name: "bench", rules: [] } };
  const log = JSON.stringify({ version: "2.1.0", runs: [{ tool, results }] });
  writeFileSync(join(repository, ".git/found.sarif"), log);
}

function environment(home: string, data: string): Record<string, string> {
  return { HOME: home, TRUNKLINE_DATA: data, XDG_CACHE_HOME: join(ROOT, ".cache/bench/cache") };
}

/** Milliseconds that a program takes. */
function run(args: string[], cwd: string, data = join(cwd, "data")): number {
  const began = performance.now();
  const env = { PATH: process.env.PATH ?? "", ...environment(join(cwd, "home"), data) };
  const { status, stderr } = spawnSync(process.execPath, args, {
    cwd,
    env,
    stdio: ["ignore", "ignore", "pipe"],
  });
  if (status !== 0) throw new Error(`${args.join(" ")} ended with ${status}: ${stderr.toString()}`);
  return performance.now() - began;
}

function importAll(folder: string, repository: string): Sample {
  const data = mkdtempSync(join(folder, "reviews-"));
  const file = join(repository, ".git/found.sarif");
  return { wall: run([TRUNKLINE, "review", "import", file], repository, data) / FINDINGS };
}

/** Loading, and what the first prompt takes longer than the next one. */
async function load(folder: string, long: string, id: string, model: DeltaModel): Promise<Sample> {
  const home = mkdtempSync(join(folder, "home-"));
  const data = join(home, "data");
  await cp(long, data, { recursive: true });
  await using editor = new Editor(home, data, model);
  const prompt = (): Promise<number> =>
    editor.ask("session/prompt", { sessionId: id, prompt: [{ type: "text", text: "Go" }] });
  await editor.ask("initialize", INITIALIZE);
  const loaded = await editor.ask("session/load", { sessionId: id, cwd: home, mcpServers: [] });
  const first = await prompt();
  const second = await prompt();
  await editor.program.finish();
  return { wall: loaded + first - second };
}

/** Who has a long session has used the program before, which has kept the lists of models. */
async function useOnce(folder: string, data: string, model: DeltaModel): Promise<void> {
  await using editor = new Editor(folder, data, model);
  await editor.ask("initialize", INITIALIZE);
  await editor.ask("session/new", { cwd: folder, mcpServers: [] });
  await editor.program.finish();
}

const INITIALIZE = { protocolVersion: 1, clientCapabilities: {} };

/** A client of `trunkline acp`. */
class Editor implements AsyncDisposable {
  readonly program: Program;
  readonly #answers = new Map<number, () => void>();

  constructor(home: string, data: string, model: DeltaModel) {
    const config = join(home, "config.json");
    writeFileSync(config, JSON.stringify({ models: model.settings }));
    const env = environment(home, data);
    this.program = new Program([TRUNKLINE, "acp", "--config", config], { env, cwd: home });
    readLines(this.program.stdout, (line) => {
      const { id, method } = JSON.parse(line) as { id?: number; method?: string };
      if (id !== undefined && method === undefined) this.#answers.get(id)?.();
    });
  }

  /** Milliseconds until the answer. */
  async ask(method: string, params: object): Promise<number> {
    const [id, began] = [this.#answers.size + 1, performance.now()];
    const answer = Promise.withResolvers<void>();
    this.#answers.set(id, answer.resolve);
    this.program.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    await this.program.until(answer.promise);
    return performance.now() - began;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.program[Symbol.asyncDispose]();
  }
}

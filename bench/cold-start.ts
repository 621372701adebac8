import { once } from "node:events";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { INITIALIZE } from "./echo-call.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTime } from "./harness/cpu-time.ts";
import { livingTree } from "./harness/process-tree.ts";
import { Program, ROOT } from "./harness/program.ts";
import { StdioLoad } from "./harness/stdio-load.ts";

const TRUNKLINE = "dist/trunkline.js";
const BARE = "bare Node";
const MCP = "trunkline mcp";
const ACP = "trunkline acp";
const CHAT = "trunkline chat, prompt";
const CHAT_OPEN = "trunkline chat, session";

const ACP_INITIALIZE = {
  protocolVersion: 1,
  clientCapabilities: {},
  clientInfo: { name: "bench", version: "1.0.0" },
};

/** From starting the program to what an editor waits for. */
export const coldStart: Bench = {
  name: "cold-start",
  plan: async ({ quick }) => {
    const user = await mkdtempDisposable(join(tmpdir(), "trunkline-bench-"));
    // Node writes its compile cache when a program ends.
    for (const command of ["mcp", "acp"]) await start(command, user.path);
    for (const shows of [PROMPT, OPEN]) await startChat(shows, user.path);
    return {
      describe:
        "node started; mcp until tools/list, acp until initialize is answered, chat in a pseudo-terminal until its prompt is there, and until its session is, bare Node until it waits",
      rounds: quick ? 9 : 31,
      quantities: [
        { key: "cpu", label: "CPU", unit: "ms", digits: 0 },
        { key: "wall", label: "answer", unit: "ms", digits: 0 },
      ],
      variants: [
        { name: BARE, measure: bare },
        { name: MCP, measure: () => start("mcp", user.path) },
        { name: ACP, measure: () => start("acp", user.path) },
        { name: CHAT, measure: () => startChat(PROMPT, user.path) },
        { name: CHAT_OPEN, measure: () => startChat(OPEN, user.path) },
      ],
      comparisons: [
        {
          row: "start of `mcp` to `tools/list`, processor time",
          ...{ quantity: "cpu", of: MCP, against: BARE, atMost: 2.5, peers: "7–17 ¹" },
        },
        {
          row: "start of `acp` to `initialize`, processor time",
          ...{ quantity: "cpu", of: ACP, against: BARE, atMost: 2.5 },
        },
        {
          row: "start of `chat` to its prompt, against `acp`, processor time",
          ...{ quantity: "cpu", of: CHAT, against: ACP, atMost: 1.3 },
        },
        {
          row: "start of `chat` to its session, against `acp`, processor time",
          ...{ quantity: "cpu", of: CHAT_OPEN, against: ACP },
        },
      ],
      end: () => user.remove(),
    };
  },
};

async function bare(): Promise<Sample> {
  const began = performance.now();
  await using program = new Program(["--eval", "process.stdin.resume(); fs.writeSync(1, 'up')"]);
  await program.until(once(program.stdout, "data"));
  const sample = { cpu: cpuTime(program.pid) / 1000, wall: performance.now() - began };
  await program.finish();
  return sample;
}

function environmentOf(user: string): Record<string, string> {
  return {
    HOME: user,
    XDG_CACHE_HOME: join(user, "cache"),
    XDG_CONFIG_HOME: join(user, "config"),
    TRUNKLINE_DATA: join(user, "data"),
  };
}

/** What `chat` shows when a person can type, and when its session is open. */
const PROMPT = "Opening the session";
const OPEN = "/ for commands";
const CTRL_D = "\u0004";

/** `script` of util-linux has a pseudo-terminal for it; only the program's own time counts. */
async function startChat(shows: string, user: string): Promise<Sample> {
  const line = `exec '${process.execPath}' '${join(ROOT, TRUNKLINE)}' chat`;
  const env = { ...environmentOf(user), TERM: "xterm", SHELL: "/bin/sh" };
  const began = performance.now();
  const options = { node: "script", env };
  await using program = new Program(["-qfec", line, "/dev/null"], options);
  let said = "";
  const isShown = async (): Promise<void> => {
    for await (const chunk of program.stdout.iterator({ destroyOnReturn: false })) {
      said += String(chunk);
      if (said.includes(shows)) return;
    }
    throw new Error(`chat has ended, after: ${said}`);
  };
  await program.until(isShown());
  const [, chat] = livingTree(program.pid);
  const sample = { cpu: cpuTime(chat ?? NaN) / 1000, wall: performance.now() - began };
  program.stdout.resume();
  program.stdin.write(CTRL_D);
  await program.finish();
  return sample;
}

async function start(command: string, user: string): Promise<Sample> {
  const env = environmentOf(user);
  const began = performance.now();
  await using program = new Program([TRUNKLINE, command], { env });
  const load = new StdioLoad(program, { request: String, isRight: () => false });
  await load.open("initialize", command === "acp" ? ACP_INITIALIZE : INITIALIZE);
  if (command === "mcp") await load.list();
  const sample = { cpu: cpuTime(program.pid) / 1000, wall: performance.now() - began };
  await program.finish();
  return sample;
}

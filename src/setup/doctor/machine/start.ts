import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";

import { selfCommand } from "../../../base/process/self-command.ts";
import type { Invocation } from "../../../cli/shell/command.ts";
import { globalOptions } from "../../../cli/shell/open-house.ts";
import type { Finding } from "../finding.ts";

const what = "trunkline mcp";
const SLOW = 2_000;

const INITIALIZE = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "trunkline-doctor", version: "1" },
  },
};

interface Run {
  readonly out: string;
  readonly err: string;
  readonly code: unknown;
  readonly milliseconds: number;
}

/**
 * Whether an assistant that starts `trunkline mcp` gets an answer to `initialize`, and nothing else
 * on stdout (MCP 2025-11-25, Transports § stdio).
 */
export async function checkStart(invocation: Invocation, signal?: AbortSignal): Promise<Finding[]> {
  const { out, err, code, milliseconds } = await start(invocation, signal);
  const lines = out.split("\n").filter((line) => line !== "");
  const answers = lines.filter(isAnswer);
  if (answers.length !== 1 || code !== 0) {
    const said = err.trim().split("\n").at(-1) ?? "";
    const says = `does not answer 'initialize' (exit ${String(code)})${said && `: ${said}`}`;
    const next = "Run `TRUNKLINE_VERBOSE=1 trunkline mcp` and read its log.";
    return [{ state: "fail", what, says, next }];
  }
  const took = `answers 'initialize' after ${Math.round(milliseconds)} ms`;
  const speed: Finding =
    milliseconds > SLOW
      ? { state: "warn", what, says: took, next: "The disk may be slow, or the machine busy." }
      : { state: "ok", what, says: took };
  if (lines.length === answers.length) {
    return [speed, { state: "ok", what, says: "writes only the protocol to stdout" }];
  }
  const stray = lines.find((line) => !isAnswer(line)) ?? "";
  const says = `writes something else than the protocol to stdout: ${stray.slice(0, 100)}`;
  const next = "Find out what prints it, for example a module that NODE_OPTIONS loads.";
  return [speed, { state: "fail", what, says, next }];
}

async function start(invocation: Invocation, signal: AbortSignal | undefined): Promise<Run> {
  const { cwd, env } = invocation;
  const started = performance.now();
  const [command, ...args] = selfCommand();
  const all = [...process.execArgv, ...args, "mcp", ...globalOptions(invocation)];
  const child = spawn(command, all, { cwd, env });
  const kill = (): boolean => child.kill("SIGKILL");
  signal?.addEventListener("abort", kill);
  let milliseconds = 0;
  child.stdin.on("error", () => {});
  child.stdout.once("data", () => {
    milliseconds = performance.now() - started;
    child.stdin.end();
  });
  child.stdin.write(`${JSON.stringify(INITIALIZE)}\n`);
  try {
    const [out, err, [code, signal]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close") as Promise<[unknown, unknown]>,
    ]);
    return { out, err, code: code ?? signal, milliseconds };
  } catch (error) {
    return { out: "", err: (error as Error).message, code: "none", milliseconds };
  } finally {
    signal?.removeEventListener("abort", kill);
  }
}

function isAnswer(line: string): boolean {
  try {
    const message = JSON.parse(line) as { id?: unknown; result?: { serverInfo?: unknown } };
    return message.id === INITIALIZE.id && message.result?.serverInfo !== undefined;
  } catch {
    return false;
  }
}

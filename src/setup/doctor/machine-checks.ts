import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { text } from "node:stream/consumers";

import { selfCommand } from "../../base/process/self-command.ts";
import type { Config } from "../../config/config.ts";
import { examineRuns, type RunsExamined } from "../../run/open/examine-runs.ts";
import { Git } from "../../git/git.ts";
import { runningGateways } from "../../store/access/running-gateways.ts";
import type { Invocation } from "../../cli/shell/command.ts";
import { globalOptions } from "../../cli/shell/open-app.ts";
import { type CheckLimits, fail, type CheckResult, ok, warn } from "./check.ts";
import { objectIn } from "../../base/check.ts";

/** The share of a check's time to wait for an answer, so that time is left to report that none came. */
const SHARE = 0.8;

/** Whether `trunkline serve` can listen on its port, or does already. */
export async function checkPort(
  config: Pick<Config, "serve" | "data">,
  { patience, signal }: CheckLimits,
): Promise<CheckResult> {
  const { host, port } = config.serve;
  if (port === 0) return ok("each start picks a free one");
  const where = `${host}:${port}`;
  const problem = await tryToListen(host, port);
  if (problem === undefined) return ok(`${where} is free`);
  if (problem !== "EADDRINUSE") {
    const next = "Set `serve.host` and `serve.port` to an address of this machine.";
    return fail(`cannot listen on ${where}: ${problem}`, next);
  }
  const late = AbortSignal.timeout(Math.round(patience * SHARE));
  const enough = AbortSignal.any([signal, late]);
  const name = await nameAt(host, port, config.serve.tls === undefined ? "http" : "https", enough);
  if (name !== undefined) {
    const ours = (await runningGateways(config.data)).filter(({ url, listens }) =>
      [url, listens].some((each) => each !== undefined && portOf(each) === port),
    );
    if (ours.length > 0) return ok(`${name} is running on ${where}, of this data folder`);
    const next = "Stop it, or set another `serve.port`; its data folder is not this one.";
    return warn(`${name} is running on ${where}, of another data folder or user`, next);
  }
  const next = "Stop that program, or set another `serve.port`.";
  const who = late.aborted ? "a program that does not answer" : "another program";
  return fail(`${who} listens on ${where}`, next);
}

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === "" ? (protocol === "https:" ? 443 : 80) : Number(port);
}

function tryToListen(host: string, port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", ({ code, message }: NodeJS.ErrnoException) => resolve(code ?? message));
    server.listen({ host, port, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
}

/** What answers a health check there. A gateway that other machines can reach hides its version. */
async function nameAt(
  host: string,
  port: number,
  scheme: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const authority = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  try {
    const response = await fetch(`${scheme}://${authority}/healthz`, { signal });
    const health = (await response.json()) as { status?: unknown; version?: unknown };
    if (health.status !== "ok") return undefined;
    return typeof health.version === "string" ? `Trunkline ${health.version}` : "a gateway";
  } catch (error) {
    const { code = "" } = ((error as Error).cause ?? {}) as { readonly code?: string };
    // Its certificate is for another name, or this machine does not trust it.
    return scheme === "https" && /CERT|ALTNAME|LEAF/.test(code) ? "a server with TLS" : undefined;
  }
}

/** The same as `engines` in package.json. */
const NODE = { major: 26, minor: 1 };

export function checkNode(version: string): CheckResult {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major > NODE.major || (major === NODE.major && minor >= NODE.minor)) return ok(version);
  const needed = `${NODE.major}.${NODE.minor}`;
  return fail(`${version} is older than ${needed}`, `Install Node ${needed} or newer.`);
}

/** The first version with `safe.bareRepository`. */
const GIT = [2, 38] as const;

/** Identities, reviews and the built-in agent need git. */
export async function checkGit(folder: string, env: NodeJS.ProcessEnv): Promise<CheckResult> {
  try {
    const { stdout } = await new Git(folder, { env }).run(["version"]);
    const says = String(stdout).trim().replace("git version ", "");
    if (!isOld(says)) return ok(says);
    const next = `Update it to ${GIT.join(".")} or later: older versions trust bare repositories inside a project.`;
    return warn(says, next);
  } catch (error) {
    return fail((error as Error).message, "Install it, or add its folder to PATH.");
  }
}

function isOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  return major < GIT[0] || (major === GIT[0] && minor < GIT[1]);
}

const DRIVERS: Readonly<Record<RunsExamined["driver"], string>> = {
  overlay: "workspaces are overlay mounts, made in milliseconds",
  reflink: "workspaces are copies that share their blocks",
  copy: "workspaces are whole copies: overlay mounts need root with CAP_SYS_ADMIN, shared blocks XFS or Btrfs",
};

/** Which parts of the sandbox are in force here, and how workspaces are made. */
export async function checkRuns(
  { data, remote }: Pick<Config, "data" | "remote">,
  env: NodeJS.ProcessEnv,
): Promise<CheckResult[]> {
  const { sandbox, driver, ssh } = await examineRuns(data, env);
  const isNone = !sandbox.some(({ isInForce }) => isInForce);
  const findings = sandbox.map(({ part, isInForce, detail, next }): CheckResult => {
    const says = `${part}: ${detail}`;
    if (isInForce) return ok(says);
    const why = isNone ? "No run begins without it (docs/HOSTING.md). " : "";
    return warn(says, `${why}${next}`);
  });
  if (remote.sandbox === "unsafe-off") {
    const says = "agents work without a sandbox: `remote.sandbox` is `unsafe-off`";
    return [warn(says, "Set `remote.sandbox` to `on`."), ...findings];
  }
  if (isNone) return findings;
  const noSsh = "there is no ssh, so repositories are reached by HTTPS only";
  const reach: CheckResult =
    ssh === undefined
      ? warn(noSsh, "Install OpenSSH's client.")
      : ok(`repositories are reached by SSH with ${ssh}`);
  return [...findings, ok(DRIVERS[driver]), reach];
}

/** Whether commands of the built-in agent run in a sandbox, and plugins that have permissions. */
export async function checkSandbox(
  config: Pick<Config, "agent" | "bus" | "data">,
): Promise<CheckResult[]> {
  const { localSandboxStatus, pluginSandboxStatus, tryOutSandbox } =
    await import("../../sandbox/open/local-sandbox-status.ts");
  // Both need the same of this machine.
  let tried: Promise<string | undefined> | undefined;
  const tryOut = (): Promise<string | undefined> => (tried ??= tryOutSandbox());
  const commands = { what: "Sandbox of commands", ...(await localSandboxStatus(config, tryOut)) };
  const isLimited = Object.values(config.bus.plugins).some((plugin) => {
    return "permissions" in plugin && plugin.enabled !== false;
  });
  if (!isLimited) return [commands];
  return [commands, { what: "Sandbox of plugins", ...(await pluginSandboxStatus(config, tryOut)) }];
}

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
export async function checkStart(
  invocation: Invocation,
  signal?: AbortSignal,
): Promise<CheckResult[]> {
  const { out, err, code, milliseconds } = await start(invocation, signal);
  const lines = out.split("\n").filter((line) => line !== "");
  const answers = lines.filter(isAnswer);
  if (answers.length !== 1 || code !== 0) {
    const said = err.trim().split("\n").at(-1) ?? "";
    const says = `does not answer 'initialize' (exit ${String(code)})${said && `: ${said}`}`;
    return [fail(says, "Run `TRUNKLINE_VERBOSE=1 trunkline mcp` and read its log.")];
  }
  const took = `answers 'initialize' after ${Math.round(milliseconds)} ms`;
  const speed: CheckResult =
    milliseconds > SLOW ? warn(took, "The disk may be slow, or the machine busy.") : ok(took);
  if (lines.length === answers.length) return [speed, ok("writes only the protocol to stdout")];
  const stray = lines.find((line) => !isAnswer(line)) ?? "";
  const says = `writes something else than the protocol to stdout: ${stray.slice(0, 100)}`;
  const next = "Find out what prints it, for example a module that NODE_OPTIONS loads.";
  return [speed, fail(says, next)];
}

async function start(invocation: Invocation, signal: AbortSignal | undefined): Promise<Run> {
  const { cwd, env } = invocation;
  const started = performance.now();
  const [command, ...args] = selfCommand();
  const all = [...process.execArgv, ...args, "mcp", ...globalOptions(invocation)];
  const child = spawn(command, all, { cwd, env, signal, killSignal: "SIGKILL" });
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
  }
}

function isAnswer(line: string): boolean {
  const { id, result } = (objectIn(line) ?? {}) as {
    id?: unknown;
    result?: { serverInfo?: unknown };
  };
  return id === INITIALIZE.id && result?.serverInfo !== undefined;
}

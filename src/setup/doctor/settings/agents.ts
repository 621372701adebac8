import { accessSync, constants, existsSync } from "node:fs";
import { basename, isAbsolute, resolve } from "node:path";

import { BUILT_IN, type Config } from "../../../config/config.ts";
import { findProgram } from "../../../run/open/find-program.ts";
import { absolutePath } from "../../../base/process/environment.ts";
import { Log } from "../../../base/log.ts";
import { suggest } from "../../../base/text/suggest.ts";
import { visibleLine } from "../../../base/text/visible.ts";
import { byCommand, type Finding } from "../finding.ts";
import { type Allowance, seconds } from "../run-checks.ts";

export interface AgentsOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Starts each agent. Many take seconds, and ask a server on the network. */
  readonly isDeep: boolean;
  readonly allowance: Allowance;
}

type AgentSettings = Config["agents"][string];

/** What installs the agents that people use. Others have a way of their own. */
const INSTALL: Readonly<Record<string, string>> = {
  "claude-agent-acp": "npm install -g @agentclientprotocol/claude-agent-acp",
  "codex-acp": "npm install -g @agentclientprotocol/codex-acp @openai/codex",
  gemini: "npm install -g @google/gemini-cli",
  opencode: "npm install -g opencode-ai",
};

/** Whether the agents are installed, above all the one that sessions start with. */
export async function checkAgents(
  { agent, agents }: Pick<Config, "agent" | "agents">,
  options: AgentsOptions,
): Promise<Finding[]> {
  const names = Object.keys(agents);
  const checked = await Promise.all(
    Object.entries(agents).map(([name, settings]) =>
      checkAgent(name, settings, agent.name, options),
    ),
  );
  const findings = checked.flat();
  if (agent.name === BUILT_IN || names.includes(agent.name)) return findings;
  const [near] = suggest(agent.name, [BUILT_IN, ...names]);
  const hint = near === undefined ? "" : ` Did you mean '${near}'?`;
  const says = `\`agent\` names it, but it is not in \`agents\`, so no session can start.${hint}`;
  const next = `Add \`agents.${agent.name}\`, or set \`agent\` to one of: ${[BUILT_IN, ...names].join(", ")}.`;
  return [...findings, { state: "fail", what: whatOf(agent.name), says, next }];
}

async function checkAgent(
  name: string,
  settings: AgentSettings,
  first: string,
  options: AgentsOptions,
): Promise<Finding[]> {
  const what = whatOf(name);
  const { command, env = {} } = settings;
  const problem = problemOf(settings, options.cwd, env.PATH ?? options.env.PATH);
  if (problem !== undefined) {
    const state = name === first ? "fail" : "warn";
    const effect = name === first ? "; sessions start with it, so none can" : "";
    const install = INSTALL[basename(command)];
    const elsewhere = `Set \`agents.${name}.command\` to its full path`;
    const remedy =
      install === undefined
        ? { next: `Install it. ${elsewhere} if it is in no folder of PATH.` }
        : byCommand(install);
    return [{ state, what, says: `${problem}${effect}`, ...remedy }];
  }
  if (options.isDeep) return [await tryToStart(name, settings, options)];
  return [{ state: "ok", what, says: `'${visibleLine(command)}' is installed` }];
}

/** Programs whose first argument is the program that matters. */
const INTERPRETER = /^(?:node|bun|deno|python\d*(?:\.\d+)?|ruby|sh|bash)(?:\.exe)?$/;
/** What Windows adds to the name of a program. */
const ENDINGS = process.platform === "win32" ? ["", ".exe", ".cmd", ".bat"] : [""];

function problemOf(
  { command, args = [] }: AgentSettings,
  cwd: string,
  path: string | undefined,
): string | undefined {
  const isPath = /[\\/]/.test(command);
  const program = isPath ? resolve(cwd, command) : command;
  const found = ENDINGS.some((end) => findProgram(program + end, absolutePath(path)) !== undefined);
  if (!found) {
    const why = isPath ? describePath(program) : `'${visibleLine(command)}' is not in PATH`;
    return `is not installed: ${why}`;
  }
  const script = args.find((arg) => !arg.startsWith("-"));
  const isScript = INTERPRETER.test(basename(command)) && script !== undefined;
  if (!isScript || !isAbsolute(script) || existsSync(script)) return undefined;
  return `is not installed: there is no file ${visibleLine(script)}`;
}

function describePath(path: string): string {
  if (!existsSync(path)) return `there is no file ${visibleLine(path)}`;
  try {
    accessSync(path, constants.X_OK);
    return `${visibleLine(path)} cannot be run`;
  } catch {
    return `${visibleLine(path)} is not executable`;
  }
}

async function tryToStart(
  name: string,
  settings: AgentSettings,
  { allowance: { endsLater, signal } }: AgentsOptions,
): Promise<Finding> {
  const what = whatOf(name);
  const { ExternalAgent } = await import("../../../agent/external-agent.ts");
  const agent = new ExternalAgent({ name, ...settings, log: new Log("error") });
  const started = performance.now();
  const end = (): void => endsLater(agent[Symbol.asyncDispose]());
  signal.addEventListener("abort", end);
  try {
    await agent.process("doctor", undefined);
    const took = seconds(performance.now() - started);
    return { state: "ok", what, says: `answers 'initialize' after ${took} s` };
  } catch (error) {
    const why = (error as Error).message;
    const next = `Run it by hand to see why: ${[settings.command, ...(settings.args ?? [])].join(" ")}`;
    return { state: "fail", what, says: `does not answer 'initialize': ${visibleLine(why)}`, next };
  } finally {
    signal.removeEventListener("abort", end);
    end();
  }
}

function whatOf(name: string): string {
  return `Agent '${visibleLine(name)}'`;
}

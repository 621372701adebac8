import { existsSync } from "node:fs";
import { basename, isAbsolute, resolve } from "node:path";

import { isObject } from "../../base/check.ts";
import { ModelCommands } from "../../agent/models/model-commands.ts";
import { atMost } from "../../base/abort.ts";
import { TrunklineError } from "../../base/errors.ts";
import { Log } from "../../base/log.ts";
import { absolutePath } from "../../base/process/environment.ts";
import { shellWord } from "../../base/text/shell-word.ts";
import { suggest } from "../../base/text/suggest.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { counted } from "../../base/text/counted.ts";
import type { BusControl } from "../../plugin/open/bus-control.ts";
import { busPlan, hasBus, unaskedPlugins } from "../../plugin/open/bus.ts";
import { examineCertificates } from "../../plugin/open/examine-certificates.ts";
import {
  BUILT_IN,
  type Config,
  type ConfigInput,
  type ConfigSource,
  type LoadedConfig,
} from "../../config/config.ts";
import { checkAll } from "../../config/file/check-file.ts";
import { furtherMistakes } from "./config-mistakes.ts";
import { loadConfig } from "../../config/load.ts";
import { deliveries } from "../../server/notify/deliveries.ts";
import { readEntries } from "../../server/notify/entries.ts";
import { identitiesOptions } from "../../identity/open/open-identities.ts";
import { openKeys } from "../../identity/open/open-secret-store.ts";
import { findProgram } from "../../run/open/find-program.ts";
import { openTools } from "../../app/tool/open-tools.ts";
import { type IdentityCommands, openIdentityCommands } from "../../identity/identity-commands.ts";
import { approving } from "../../plugin/plugin/permissions.ts";
import type { UpstreamStatus } from "../../upstream/upstream.ts";
import type { Invocation } from "../../cli/shell/command.ts";
import { configFlags } from "../../cli/shell/open-app.ts";
import {
  type CheckLimits,
  byCommand,
  byFix,
  type CheckResult,
  fail,
  FIX_COMMAND,
  ok,
  seconds,
  silentApp,
  warn,
} from "./check.ts";
import { setAside } from "./state-checks.ts";
import { valueAt } from "../../config/layer.ts";
import { readProgramFile } from "../change.ts";
import { type ProgramFolders, placesOf, type SetupTarget, TARGETS } from "../targets.ts";

/**
 * Whether every file that a server started here would read is valid. If only the project's file cannot
 * be used, the rest is examined without it.
 */
export async function checkConfig(
  input: ConfigInput,
): Promise<{ findings: CheckResult[]; loaded?: LoadedConfig }> {
  let loaded: LoadedConfig;
  try {
    loaded = await checkAll(input, furtherMistakes);
  } catch (error) {
    if (!(error instanceof TrunklineError)) throw error;
    const next = "Fix it, then run `trunkline config check`.";
    const lines = error.message.split("\n");
    const findings: CheckResult[] = lines.map((line, at) => {
      return fail(line, at === lines.length - 1 ? next : {});
    });
    const own = await loadConfig({ ...input, ignoreProject: true }).catch(() => undefined);
    return own === undefined ? { findings } : { findings, loaded: own };
  }
  const findings = loaded.files.map(fileFinding);
  const isTold = (warning: string): boolean =>
    loaded.files.some(({ path, isTrusted }) => isTrusted === false && warning.startsWith(path));
  for (const warning of loaded.warnings.filter((each) => !isTold(each))) {
    findings.push(warn(warning, "Change it, then run `trunkline config check`."));
  }
  return { findings, loaded };
}

function fileFinding({ kind, path, isFound, isTrusted }: ConfigSource): CheckResult {
  if (!isFound) return ok(`${path} does not exist; the defaults apply`);
  if (kind === "user") return ok(path);
  if (isTrusted) return ok(`${path} (trusted project file)`);
  return warn(
    `${path} is not trusted, so most of it is ignored`,
    "Read it, then run `trunkline config trust`.",
  );
}

interface AgentsOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** Starts each agent. Many take seconds, and ask a server on the network. */
  readonly isDeep: boolean;
  readonly allowance: CheckLimits;
}

type AgentSettings = Config["agents"][string];

/** The commands that install well-known agents. */
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
): Promise<CheckResult[]> {
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
): Promise<CheckResult[]> {
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
  if (!ENDINGS.some((end) => findProgram(program + end, absolutePath(path)) !== undefined)) {
    const why = isPath ? describePath(program) : `'${visibleLine(command)}' is not in PATH`;
    return `is not installed: ${why}`;
  }
  const script = args.find((arg) => !arg.startsWith("-"));
  const isScript = INTERPRETER.test(basename(command)) && script !== undefined;
  if (!isScript || !isAbsolute(script) || existsSync(script)) return undefined;
  return `is not installed: there is no file ${visibleLine(script)}`;
}

function describePath(path: string): string {
  const name = visibleLine(path);
  return existsSync(path) ? `${name} is not executable` : `there is no file ${name}`;
}

async function tryToStart(
  name: string,
  settings: AgentSettings,
  { allowance: { endsLater, signal } }: AgentsOptions,
): Promise<CheckResult> {
  const what = whatOf(name);
  const { ExternalAgent } = await import("../../agent/external-agent.ts");
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

/** The share of the check's time in which servers have to be up; the rest is for ending them. */
const SHARE = 0.75;

/** The state of the configured MCP servers, and whether tools wait for approval. */
export async function checkServers(
  config: Config,
  { patience, endsLater }: CheckLimits,
  wait = patience * SHARE,
): Promise<CheckResult[]> {
  if (Object.keys(config.mcpServers).length === 0) return [ok("none configured")];
  const opened = await openTools(silentApp(config));
  await atMost(wait, opened.started());
  const findings = opened.status().map((status) => findingOf(status, wait));
  const held = opened.offer.tools.held().length;
  // Not awaited: a server that ignores the request to end takes seconds to stop.
  endsLater(Promise.resolve(opened[Symbol.asyncDispose]()));
  if (held === 0) return findings;
  const next = "Check them with `trunkline tool diff`.";
  return [
    ...findings,
    { state: "warn", what: "Tools", says: `${held} held until you approve them`, next },
  ];
}

function findingOf(status: UpstreamStatus, wait: number): CheckResult {
  const { name, state, listError, noTools, said } = status;
  const what = `MCP server '${visibleLine(name)}'`;
  if (state === "up" && listError === undefined) {
    const none = noTools === undefined ? "" : `, without tools: ${visibleLine(noTools)}`;
    return { state: "ok", what, says: state + none };
  }
  const lastError = listError ?? status.lastError;
  if (state === "starting") {
    const last = said.at(-1);
    const words = last === undefined ? "" : `; its last output: ${visibleLine(last)}`;
    const next =
      "Assistants see its tools late. The first start may download it: see how long it takes with `trunkline doctor --deep`.";
    return { state: "warn", what, says: `still starting after ${seconds(wait)} s${words}`, next };
  }
  // The error of a server that wants a login says what to run.
  const isSaid = lastError?.includes("`trunkline ") === true;
  const next = `See more with \`trunkline server test ${shellWord(name)}\`, or remove it from \`mcpServers\`.`;
  const why = lastError === undefined ? "" : `: ${visibleLine(lastError)}`;
  const says = listError === undefined ? state : "could not list its tools";
  return { state: "fail", what, says: says + why, ...(isSaid ? {} : { next }) };
}

/** The state of the plugins, if some are configured and a bus is running. */
export async function checkBus(config: Config): Promise<CheckResult[]> {
  const unusable = await certificateFindings(config);
  if (unusable.length > 0 || !hasBus(config)) return unusable;
  return [...(await runningFindings(config)), ...unaskedFindings(config)];
}

/** Plugins that were added before anybody was asked what they may do. */
function unaskedFindings(config: Config): CheckResult[] {
  return unaskedPlugins(busPlan(config)).map((id) => {
    const says = `nobody was asked what '${id}' may do: earlier versions have added it`;
    return warn(says, `${approving(id)}.`);
  });
}

async function runningFindings(config: Config): Promise<CheckResult[]> {
  const { openBusControl } = await import("../../plugin/open/bus-control.ts");
  const asked = { address: undefined, certsDir: undefined };
  try {
    await using bus = await openBusControl(silentApp(config), asked);
    return await pluginFindings(bus);
  } catch (error) {
    const [says = ""] = (error as Error).message.split(/(?<=\.) Run `/, 1);
    return [warn(says, "Start it with `trunkline serve` or `trunkline orchestrator`.")];
  }
}

/** Certificates that the bus would refuse. It renews others by itself. */
async function certificateFindings(config: Config): Promise<CheckResult[]> {
  const found = await examineCertificates(busPlan(config).certsDir);
  return found.map(({ says, files }): CheckResult => {
    const [first, ...others] = files;
    // Certificates elsewhere may have been made by somebody else.
    if (config.bus.certsDir !== undefined || first === undefined) {
      return fail(says, "Move its files away: the bus makes new ones where it has `ca.key`.");
    }
    const next = `Run \`${FIX_COMMAND}\`, which renames its files after a question: the bus then makes new ones.`;
    return fail(says, { ...byFix(setAside(config.data, first, ...others)), next });
  });
}

async function pluginFindings(bus: BusControl): Promise<CheckResult[]> {
  const plugins = await bus.list();
  if (plugins.length === 0) return [ok("is running without plugins")];
  return plugins.map(({ id, state, tools, lastError }): CheckResult => {
    if (state === "up") return ok(`'${id}' is up, with ${counted(tools, "tool")}`);
    const next = `See \`trunkline plugin log ${id}\`.`;
    return fail(`'${id}' is ${state}. ${lastError ?? ""}`.trim(), next);
  });
}

/** Which language model new sessions of the built-in agent use. */
export async function checkModels(
  { config }: LoadedConfig,
  env: NodeJS.ProcessEnv,
): Promise<CheckResult[]> {
  // Failures are reported as findings, so they need not be logged as well.
  const log = new Log("error");
  const open = openKeys(config.data, env);
  const commands = new ModelCommands({ settings: config.models, env, log, open });
  const { models, unanswered } = await commands.list();
  const first = models.find(({ isDefault }) => isDefault)?.id ?? "offline";
  const { default: wanted } = config.models;
  const findings = Object.entries(unanswered).map(([provider, why]): CheckResult => {
    return warn(`${provider} did not list its models: ${why}`, "Check its address and its key.");
  });
  if (wanted !== undefined && wanted !== first) {
    const says = `\`models.default\` is ${wanted}, which does not exist; sessions start with ${first}`;
    findings.push(warn(says, "`trunkline model list` lists the models."));
  } else if (models.length === 1) {
    findings.push(ok("no language model; the built-in agent runs slash commands only"));
  } else if (first === "offline" && models.some(({ isFound }) => isFound)) {
    const says = "found some on this machine, but none is chosen";
    findings.push(ok(says, "Choose one with `models.default`."));
  } else findings.push(ok(`sessions start with ${first}`));
  return findings;
}

/** The guard of this repository, and what the identities lack on this machine. */
export async function checkIdentities(
  config: Config,
  { cwd, env, values }: Pick<Invocation, "cwd" | "env" | "values">,
): Promise<CheckResult[]> {
  const options = identitiesOptions(config, { cwd, env, flags: configFlags(values) });
  // Without `ask`: nobody is asked for a passphrase.
  await using commands = openIdentityCommands(options);
  const list = commands.identities.list;
  const [guard, ...parts] = await Promise.all([
    checkGuard(commands, cwd),
    ...list.map(({ name }) => checkIdentity(commands, name)),
  ]);
  return [...guard, ...parts.flat()];
}

async function checkIdentity(commands: IdentityCommands, name: string): Promise<CheckResult[]> {
  const what = `Identity '${visibleLine(name)}'`;
  const { missing } = await commands.readiness(name);
  if (missing.length === 0) return [{ state: "ok", what, says: "has all its keys" }];
  return missing.map(({ outcome, says, command, expires }): CheckResult => {
    // Git works without a token: it asks for a password, or uses SSH.
    const state = outcome === "fail" ? "fail" : expires === undefined ? "ok" : "warn";
    return { state, what, says, ...(command === undefined ? {} : byCommand(command)) };
  });
}

const GUARD = "Guard";

/** A guard that cannot be run refuses every commit. Having none is fine. */
async function checkGuard(commands: IdentityCommands, cwd: string): Promise<CheckResult[]> {
  const { worktree } = await commands.identities.status(cwd);
  if (worktree === undefined) return [];
  const { guarded, isInstalled, broken, says } = await commands.guardStatus(cwd);
  if (guarded.length === 0) return [];
  if (isInstalled && broken === undefined) return [{ state: "ok", what: GUARD, says }];
  const fix = {
    does: `Install the guard of ${worktree} again`,
    apply: () => commands.installGuard(cwd),
  };
  const remedy = byCommand("trunkline identity guard install");
  return [{ state: "fail", what: GUARD, says: broken ?? says, ...remedy, fix }];
}

/** Milliseconds for which a failure is shown. */
const RECENT = 24 * 60 * 60_000;

/** Whether the configured notifications can work, and whether the last ones arrived. */
export async function checkNotifications(
  { data, notifications }: Pick<Config, "data" | "notifications">,
  now = Date.now(),
): Promise<CheckResult[]> {
  if (notifications.length === 0) return [];
  const { entries, problems } = readEntries(notifications);
  const findings = problems.map((says): CheckResult => {
    return fail(says, "Correct it in the configuration.");
  });
  const recent = (await deliveries(data)).filter(({ time }) => Date.parse(time) > now - RECENT);
  const failing = new Map<string, string>();
  for (const { receiver, state, result = "", attempts } of recent.toReversed()) {
    const isFailing = state === "failed" || (state === "pending" && attempts.length > 0);
    if (isFailing) failing.set(receiver, result);
    // A later one that arrived shows that it works again.
    else if (state === "delivered") failing.delete(receiver);
  }
  for (const [receiver, result] of failing) {
    const says = `the last one to ${receiver} was not delivered: ${result}`;
    findings.push(warn(says, byCommand("trunkline notification test")));
  }
  if (findings.length > 0) return findings;
  const names = entries.map(({ name }) => name).join(", ");
  return [ok(`${names}: nothing has failed in the last day`)];
}

/** Whether the programs that were set up to start Trunkline would find it. */
export function checkSetups(env: NodeJS.ProcessEnv): CheckResult[] {
  const places = placesOf(env);
  const found = TARGETS.flatMap((target) => examine(target, places));
  const working = found.filter(({ state }) => state === "ok").map(({ says }) => says);
  const broken = found.filter(({ state }) => state !== "ok");
  return working.length === 0 ? broken : [ok(working.join(", ")), ...broken];
}

function examine(target: SetupTarget, places: ProgramFolders): CheckResult[] {
  const path = target.file(places);
  let entries: unknown[];
  try {
    const { text } = readProgramFile(path);
    if (text === undefined) return [];
    const settings = target.format.read(text);
    entries = target.entries.map((entry) => valueAt(settings, entry.path));
  } catch (error) {
    const says = `cannot read the settings of ${target.label} in '${path}'`;
    return [warn(`${says}: ${(error as Error).message}`, "Repair the file.")];
  }
  const starts = entries.filter(isObject).map(startOf);
  const dead = starts.flat().find((each) => !existsSync(each));
  if (starts.length === 0) return [];
  if (dead === undefined) return [ok(target.label)];
  const command = `trunkline setup ${shellWord(target.name)}`;
  return [fail(`${target.label} starts '${dead}', which is not there`, byCommand(command))];
}

/** The files that an entry starts: a Node and our program, or our program alone. */
function startOf({ command, cmd, args }: Readonly<Record<string, unknown>>): string[] {
  const words = [command ?? cmd, args].flat();
  const end = words.findIndex((word) => typeof word !== "string" || !isAbsolute(word));
  return words.slice(0, end < 0 ? undefined : end) as string[];
}

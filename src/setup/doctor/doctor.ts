import { fileWords } from "../../base/errors.ts";
import type { LoadedConfig } from "../../config/config.ts";
import { confirm } from "../../cli/shell/ask.ts";
import type { Invocation, OptionValues } from "../../cli/shell/command.ts";
import { isVerbose } from "../../cli/shell/host.ts";
import { paint, print } from "../../cli/shell/layout.ts";
import { configFlags } from "../../cli/shell/open-app.ts";
import { checkAccess, checkTls } from "./access-checks.ts";
import {
  type CheckLimits,
  type Check,
  Checks,
  type Finding,
  type Fix,
  FIX_COMMAND,
} from "./check.ts";
import {
  checkGit,
  checkNode,
  checkPort,
  checkRuns,
  checkSandbox,
  checkStart,
} from "./machine-checks.ts";
import {
  checkAgents,
  checkBus,
  checkConfig,
  checkIdentities,
  checkModels,
  checkNotifications,
  checkServers,
  checkSetups,
} from "./settings-checks.ts";
import { canBeUsed, checkDataFolder, checkFiles, checkWorktrees } from "./state-checks.ts";

/** Milliseconds for each check. They run at the same time; the limit only ends checks that hang. */
const PATIENCE = 10_000;
/** The same with `--deep`: servers may download something first. */
const DEEP_PATIENCE = 60_000;
/** Milliseconds for ending what the checks have started. */
const TIDYING = 400;
/** Milliseconds that the process has after the last line to end by itself. */
const LEAVING = 100;

type DoctorValues = OptionValues<never, "fix" | "yes" | "deep">;

/** `trunkline doctor` */
export async function run(invocation: Invocation<DoctorValues>): Promise<number> {
  const { values, out, color } = invocation;
  const started = performance.now();
  const show = values.json === true ? () => {} : (each: Finding) => out(lineOf(each, color));
  const report = (
    examined: DoctorReport & { fixed?: readonly FixResult[] },
    text: string,
  ): number => {
    const milliseconds = Math.round(performance.now() - started);
    return print(invocation, { ...examined, milliseconds }, text, { code: examined.ok ? 0 : 1 });
  };
  const first = await examineAll(invocation, show);
  if (values.fix !== true) return report(first, hintOf(first.findings));
  const fixed = await applyFixes(invocation, first.findings);
  // Whether a fix has helped is only known by looking again.
  const again = fixed.length === 0 ? first : await examineAll(invocation, () => {});
  const left = again.findings.filter(({ state }) => state !== "ok");
  const head = left.length === 0 ? "\nNothing is left to be done.\n" : "\nLeft to be done:\n";
  return report({ ...again, fixed }, head + left.map((finding) => lineOf(finding, color)).join(""));
}

async function examineAll(
  invocation: Invocation<DoctorValues>,
  found: (finding: Finding) => void,
): Promise<DoctorReport> {
  const isDeep = invocation.values.deep === true;
  const checks = new Checks({
    patience: isDeep ? DEEP_PATIENCE : PATIENCE,
    ifLate: isDeep
      ? "Find out what it waits for with `trunkline doctor --verbose`."
      : "`trunkline doctor --deep` waits longer.",
    isVerbose: isVerbose(invocation.env),
  });
  const findings: Finding[] = [];
  for await (const finding of examine(invocation, checks, isDeep)) {
    findings.push(finding);
    found(finding);
  }
  if (!(await checks.settled(TIDYING))) leaveSoon();
  return { ok: findings.every(({ state }) => state !== "fail"), findings };
}

/**
 * Ends the process if a check that was given up keeps it alive, such as a keychain that waits for a
 * person. Programs that it started are ended by the watchdog.
 */
function leaveSoon(): void {
  setTimeout(() => {
    if (process.exitCode !== undefined) process.exit();
    leaveSoon();
  }, LEAVING).unref();
}

const STYLES = { ok: "green", warn: "yellow", fail: "red" } as const;

function lineOf({ state, what, says, next }: Finding, color: boolean): string {
  const shown = paint(STYLES[state], state.padEnd(4), color);
  const advice = next === undefined ? "" : `     ${next}\n`;
  return `${shown} ${what}: ${says}\n${advice}`;
}

function hintOf(findings: readonly Finding[]): string {
  const count = findings.filter(({ fix }) => fix !== undefined).length;
  if (count === 0) return "";
  const what = count === 1 ? "One of these" : `${count} of these`;
  return `\n${what} can be fixed with \`${FIX_COMMAND}\`, which asks before it puts a file aside.\n`;
}

interface DoctorReport {
  readonly ok: boolean;
  readonly findings: readonly Finding[];
}

/** Milliseconds in which a server has to be up; with `--deep`, most of the time of the check. */
const SERVERS_UP = 3_000;

/** Examines the whole setup. The configuration and the data folder come first: they decide what else to check. */
async function* examine(
  invocation: Invocation,
  checks: Checks,
  isDeep: boolean,
): AsyncGenerator<Finding> {
  const { cwd, env } = invocation;
  let loaded: LoadedConfig | undefined;
  const config: Check = {
    what: "Configuration",
    examine: async () => {
      const found = await checkConfig({ cwd, env, flags: configFlags(invocation.values) });
      ({ loaded } = found);
      return found.findings;
    },
  };
  const node: Check = { what: "Node", examine: () => [checkNode(process.versions.node)] };
  const git: Check = { what: "git", examine: async () => [await checkGit(cwd, env)] };
  yield* checks.run([node, config]);
  if (loaded === undefined) {
    yield* checks.run([git]);
    return;
  }
  const { data } = loaded.config;
  let isUsable = false;
  const folder: Check = {
    what: "Data folder",
    examine: async () => {
      const findings = await checkDataFolder(data);
      isUsable = canBeUsed(findings);
      return findings;
    },
  };
  yield* checks.run([folder]);
  const all = configuredChecks(invocation, loaded, isDeep);
  // A check that needs the data folder is left out if that cannot be used.
  const skipped = isUsable ? [] : all.filter(({ needsData }) => needsData);
  if (skipped.length > 0) {
    const names = skipped.map(({ what }) => what).join(", ");
    const next = "Fix the data folder, and run `trunkline doctor` again.";
    yield { state: "warn", what: "Data folder", says: `without it, not checked: ${names}`, next };
  }
  yield* checks.run([git, ...all.filter((check) => !skipped.includes(check))]);
}

/** The checks that need a configuration. */
function configuredChecks(
  invocation: Invocation,
  loaded: LoadedConfig,
  isDeep: boolean,
): (Check & { readonly needsData: boolean })[] {
  const { config } = loaded;
  const { data } = config;
  const { cwd, env } = invocation;
  const servers = (allowance: CheckLimits) =>
    checkServers(config, allowance, isDeep ? undefined : SERVERS_UP);
  const checks: readonly (readonly [string, "data" | "", Check["examine"]])[] = [
    ["Data files", "data", (allowance) => checkFiles(data, allowance)],
    ["Work trees", "data", () => checkWorktrees(config, env)],
    ["trunkline mcp", "data", ({ signal }) => checkStart(invocation, signal)],
    ["Port", "", async (allowance) => [await checkPort(config, allowance)]],
    ["Set-ups", "", () => checkSetups(env)],
    ["Access", "data", () => checkAccess(config)],
    ["TLS", "", () => checkTls(config)],
    ["Notifications", "data", () => checkNotifications(config)],
    ["Agents", "", (allowance) => checkAgents(config, { cwd, env, isDeep, allowance })],
    ["MCP servers", "data", servers],
    ["Plugin bus", "data", () => checkBus(config)],
    ["Models", "", () => checkModels(loaded, env)],
    ["Identities", "data", () => checkIdentities(config, invocation)],
    ["Remote runs", "data", () => checkRuns(config, env)],
    ["Sandbox of commands", "", () => checkSandbox(config)],
  ];
  return checks.map(([what, needs, examine]) => ({ what, examine, needsData: needs === "data" }));
}

interface FixResult {
  readonly what: string;
  readonly does: string;
  readonly outcome: "done" | "declined" | "failed";
  /** Why it failed. */
  readonly why?: string;
}

/** Asks the person at the terminal; null where there is none. */
type Question = (question: string) => Promise<boolean>;

type FixValues = OptionValues<never, "yes">;

/**
 * Applies the fixes of findings, one after the other. Those that put something aside are applied only
 * with `--yes`, or if the person at the terminal agrees.
 */
export async function applyFixes(
  { values, out }: Pick<Invocation<FixValues>, "values" | "out">,
  findings: readonly Finding[],
  ask: Question | null = process.stdin.isTTY && process.stderr.isTTY ? confirm : null,
): Promise<FixResult[]> {
  const fixed: FixResult[] = [];
  for (const { what, fix } of findings) {
    if (fix === undefined) continue;
    const isAllowed = await mayApply(fix, values, ask);
    const done = { what, does: fix.does, ...(isAllowed ? await apply(fix) : DECLINED) };
    fixed.push(done);
    if (values.json !== true) out(fixedLine(done));
  }
  return fixed;
}

const DECLINED = { outcome: "declined" } as const;

async function mayApply(
  fix: Fix,
  { yes, json }: FixValues,
  ask: Question | null,
): Promise<boolean> {
  if (fix.asks !== true || yes === true) return true;
  if (json === true || ask === null) return false;
  return ask(`${fix.does}?`);
}

async function apply(fix: Fix): Promise<Pick<FixResult, "outcome" | "why">> {
  try {
    await fix.apply();
    return { outcome: "done" };
  } catch (error) {
    return { outcome: "failed", why: fileWords(error) };
  }
}

function fixedLine({ what, does, outcome, why }: FixResult): string {
  switch (outcome) {
    case "done":
      return `fixed ${what}: ${does}.\n`;
    case "failed":
      return `not fixed ${what}: ${does}: ${why}\n`;
    case "declined":
      return `not fixed ${what}: ${does}: needs your consent. Run \`trunkline doctor --fix --yes\`.\n`;
  }
}

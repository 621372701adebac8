import { isVerbose } from "../../cli/shell/host.ts";
import type { Invocation, OptionValues } from "../../cli/shell/command.ts";
import { paint } from "../../cli/shell/layout.ts";
import { type Examined, examine } from "./examine.ts";
import { FIX_COMMAND, type Finding } from "./finding.ts";
import { Checks } from "./run-checks.ts";

/** Milliseconds for each check. They run at the same time, and it only ends what hangs. */
const PATIENCE = 10_000;
/** The same with `--deep`: servers may download something first. */
const DEEP_PATIENCE = 60_000;
/** Milliseconds for ending what the checks have started. */
const TIDYING = 400;
/** Milliseconds after the last line for a process that ends by itself. */
const LEAVING = 100;

type Values = OptionValues<never, "fix" | "yes" | "deep">;

/** `trunkline doctor` */
export async function run(invocation: Invocation<Values>): Promise<number> {
  const { values, out } = invocation;
  const isJson = values.json === true;
  const started = performance.now();
  const print = isJson ? () => {} : (finding: Finding) => out(lineOf(finding, invocation.color));
  const first = await examineAll(invocation, print);
  if (values.fix !== true) {
    const milliseconds = Math.round(performance.now() - started);
    if (isJson) out(`${JSON.stringify({ ...first, milliseconds }, null, 2)}\n`);
    else out(hintOf(first.findings));
    return first.ok ? 0 : 1;
  }
  const { applyFixes } = await import("./fix.ts");
  const fixed = await applyFixes(invocation, first.findings);
  // Whether a fix has helped is only known by looking again.
  const again = fixed.length === 0 ? first : await examineAll(invocation, () => {});
  const left = again.findings.filter(({ state }) => state !== "ok");
  if (isJson) {
    const milliseconds = Math.round(performance.now() - started);
    out(`${JSON.stringify({ ...again, fixed, milliseconds }, null, 2)}\n`);
  } else {
    out(left.length === 0 ? "\nNothing is left to be done.\n" : "\nLeft to be done:\n");
    for (const finding of left) print(finding);
  }
  return again.ok ? 0 : 1;
}

async function examineAll(
  invocation: Invocation<Values>,
  found: (finding: Finding) => void,
): Promise<Examined> {
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
  const word = state.padEnd(4);
  const shown = paint(STYLES[state], word, color);
  const advice = next === undefined ? "" : `     ${next}\n`;
  return `${shown} ${what}: ${says}\n${advice}`;
}

function hintOf(findings: readonly Finding[]): string {
  const count = findings.filter(({ fix }) => fix !== undefined).length;
  if (count === 0) return "";
  const what = count === 1 ? "One of these" : `${count} of these`;
  return `\n${what} can be fixed with \`${FIX_COMMAND}\`, which asks before it puts a file aside.\n`;
}

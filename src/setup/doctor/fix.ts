import { fileWords } from "../../base/errors.ts";
import { confirm } from "../../cli/shell/ask.ts";
import type { Invocation, OptionValues } from "../../cli/shell/command.ts";
import type { Finding, Fix } from "./finding.ts";

export interface Fixed {
  readonly what: string;
  readonly does: string;
  readonly outcome: "done" | "declined" | "failed";
  /** Why it failed. */
  readonly why?: string;
}

/** Asks the person at the terminal; null where there is none. */
type Question = (question: string) => Promise<boolean>;

type Values = OptionValues<never, "yes">;

/**
 * Applies the fixes of findings, one after the other. Those that put something aside are applied only
 * with `--yes`, or if the person at the terminal agrees.
 */
export async function applyFixes(
  { values, out }: Pick<Invocation<Values>, "values" | "out">,
  findings: readonly Finding[],
  ask: Question | null = terminalQuestion(),
): Promise<Fixed[]> {
  const fixed: Fixed[] = [];
  for (const { what, fix } of findings) {
    if (fix === undefined) continue;
    const isAllowed = await mayApply(fix, values, ask);
    const done = { what, does: fix.does, ...(isAllowed ? await apply(fix) : DECLINED) };
    fixed.push(done);
    if (values.json !== true) out(lineOf(done));
  }
  return fixed;
}

const DECLINED = { outcome: "declined" } as const;

async function mayApply(fix: Fix, { yes, json }: Values, ask: Question | null): Promise<boolean> {
  if (fix.asks !== true || yes === true) return true;
  if (json === true || ask === null) return false;
  return ask(`${fix.does}?`);
}

async function apply(fix: Fix): Promise<Pick<Fixed, "outcome" | "why">> {
  try {
    await fix.apply();
    return { outcome: "done" };
  } catch (error) {
    return { outcome: "failed", why: fileWords(error) };
  }
}

function lineOf({ what, does, outcome, why }: Fixed): string {
  switch (outcome) {
    case "done":
      return `fixed ${what}: ${does}.\n`;
    case "failed":
      return `not fixed ${what}: ${does}: ${why}\n`;
    case "declined":
      return `not fixed ${what}: ${does}: needs your consent. Run \`trunkline doctor --fix --yes\`.\n`;
  }
}

function terminalQuestion(): Question | null {
  return process.stdin.isTTY && process.stderr.isTTY ? confirm : null;
}

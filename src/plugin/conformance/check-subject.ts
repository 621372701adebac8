import { atMost, untilAborted } from "../../base/abort.ts";
import { Probe, type Rule, SkippedRuleError, type Subject } from "./probe.ts";
import { LIFECYCLE_RULES, SHUTDOWN_RULE } from "./rules/lifecycle-rules.ts";
import { REQUEST_RULES } from "./rules/request-rules.ts";
import { STORAGE_RULES } from "./rules/storage-rules.ts";
import { TOOL_RULES } from "./rules/tool-rules.ts";
import { WIRE_RULES } from "./rules/wire-rules.ts";

/** All rules, in the order in which they are checked: a plugin is registered first, and shut down last. */
export const RULES: readonly Rule[] = Object.entries<Omit<Rule, "id">>({
  ...LIFECYCLE_RULES,
  ...REQUEST_RULES,
  ...TOOL_RULES,
  ...STORAGE_RULES,
  ...WIRE_RULES,
  "plugin.shutdown": SHUTDOWN_RULE,
}).map(([id, rule]) => ({ id, ...rule }));

export interface Outcome {
  readonly rule: string;
  readonly section: string;
  readonly says: string;
  readonly outcome: "passed" | "failed" | "skipped";
  /** What was found instead, or why the rule could not be checked. */
  readonly why?: string;
}

export interface CheckOptions {
  /** Milliseconds for each rule. */
  readonly patience: number;
  readonly rules?: readonly Rule[];
  /** Aborts the check, also in the middle of a rule. */
  readonly signal?: AbortSignal | undefined;
}

/** Checks a program against every rule for its role, one after the other. */
export async function* checkSubject(
  subject: Subject,
  { patience, rules = RULES, signal }: CheckOptions,
): AsyncGenerator<Outcome, void, void> {
  for (const rule of rules) {
    if (rule.role !== undefined && rule.role !== subject.role) continue;
    const { id, section, says } = rule;
    const outcome = await outcomeOf(rule, subject, patience, signal);
    signal?.throwIfAborted();
    yield { rule: id, section, says, ...outcome };
  }
}

async function outcomeOf(
  rule: Rule,
  subject: Subject,
  patience: number,
  signal: AbortSignal | undefined,
): Promise<Pick<Outcome, "outcome" | "why">> {
  await using probe = new Probe(subject);
  try {
    const checking = untilAborted(rule.check(probe), signal);
    await atMost(patience, checking, () => new Error(`it took more than ${patience} ms`));
    return { outcome: "passed" };
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return { outcome: error instanceof SkippedRuleError ? "skipped" : "failed", why };
  }
}

import type { Arguments, Caller } from "./tool.ts";

export type Decision = "allow" | "ask" | "deny";

/** What holds for the calls that it fits. A member that is left out fits every call. */
export interface PolicyRule {
  /** The tool's name; `*` stands for any text. */
  readonly tool: string;
  /** The caller's name or door; `*` stands for any text. */
  readonly caller?: string;
  /** The folder that the call is made in, or one above it. */
  readonly project?: string;
  /** Arguments by name and what they must look like; `*` stands for any text. */
  readonly arguments?: Readonly<Record<string, string>>;
  readonly decision: Decision;
}

export interface PolicySettings {
  readonly default: Decision;
  /** The first rule that fits a call decides. */
  readonly rules: readonly PolicyRule[];
}

export interface PolicyQuestion {
  readonly tool: string;
  readonly args: Arguments;
  readonly caller: Caller;
  readonly projectPath?: string | undefined;
}

/** Decides which calls may be made. */
export class Policy {
  readonly #default: Decision;
  readonly #rules: readonly ((question: PolicyQuestion) => Decision | undefined)[];

  constructor(settings: PolicySettings = { default: "allow", rules: [] }) {
    this.#default = settings.default;
    this.#rules = settings.rules.map(compileRule);
  }

  decide(question: PolicyQuestion): Decision {
    for (const rule of this.#rules) {
      const decision = rule(question);
      if (decision !== undefined) return decision;
    }
    return this.#default;
  }
}

function compileRule(rule: PolicyRule): (question: PolicyQuestion) => Decision | undefined {
  const fitsTool = pattern(rule.tool);
  const fitsCaller = rule.caller === undefined ? undefined : pattern(rule.caller);
  const args = Object.entries(rule.arguments ?? {}).map(
    ([name, text]) => [name, pattern(text)] as const,
  );
  return (question) => {
    const { tool, caller, projectPath } = question;
    if (!fitsTool(tool)) return undefined;
    if (fitsCaller !== undefined && !fitsCaller(caller.name) && !fitsCaller(caller.door)) {
      return undefined;
    }
    if (rule.project !== undefined && !isInside(projectPath, rule.project)) return undefined;
    const doFit = args.every(([name, fits]) => fits(textOf(question.args, name)));
    return doFit ? rule.decision : undefined;
  };
}

/** A text where `*` stands for any text, also none. Nothing else is special. */
function pattern(text: string): (value: string) => boolean {
  if (!text.includes("*")) return (value) => value === text;
  const parts = text.split("*").map((part) => RegExp.escape(part));
  const expression = new RegExp(`^${parts.join("[\\s\\S]*")}$`);
  return (value) => expression.test(value);
}

function isInside(path: string | undefined, folder: string): boolean {
  if (path === undefined) return false;
  const base = folder.endsWith("/") ? folder : `${folder}/`;
  return path === folder || path.startsWith(base);
}

function textOf(args: Arguments, name: string): string {
  const value = Object.hasOwn(args, name) ? args[name] : undefined;
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

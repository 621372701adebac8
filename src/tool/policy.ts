import { resolve, sep } from "node:path";

import { glob } from "../base/glob.ts";
import type { Project } from "./project.ts";
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
  readonly project?: Project | undefined;
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
  const fitsTool = glob(rule.tool);
  const fitsCaller = rule.caller === undefined ? undefined : glob(rule.caller);
  const folder = rule.project === undefined ? undefined : resolve(rule.project);
  const args = Object.entries(rule.arguments ?? {}).map(
    ([name, text]) => [name, glob(text)] as const,
  );
  return (question) => {
    const { tool, caller, project } = question;
    if (!fitsTool(tool)) return undefined;
    if (fitsCaller !== undefined && !fitsCaller(caller.name) && !fitsCaller(caller.door)) {
      return undefined;
    }
    if (folder !== undefined && !isInside(project?.folder, folder)) return undefined;
    const doFit = args.every(([name, fits]) => fits(textOf(question.args, name)));
    return doFit ? rule.decision : undefined;
  };
}

/** By the path's real steps: `/srv/../home` is not inside `/srv`, though it begins with it. */
function isInside(path: string | undefined, folder: string): boolean {
  if (path === undefined) return false;
  const real = resolve(path);
  return real === folder || real.startsWith(folder.endsWith(sep) ? folder : folder + sep);
}

/** An argument as a rule sees it: a text as it is, anything else as JSON, a missing one as none. */
function textOf(args: Arguments, name: string): string {
  const value = Object.hasOwn(args, name) ? args[name] : undefined;
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

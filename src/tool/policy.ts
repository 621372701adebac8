import {
  limitRefusal,
  hasScope,
  mayControl,
  type Principal,
  type Scope,
  scopeRefusal,
  mayUseTool,
} from "../base/principal.ts";
import {
  isAbout,
  type Project,
  type Arguments,
  type Tool,
  type ToolContext,
  type Caller,
} from "./tool.ts";
import type { ToolRule } from "../config/schema/schema.gen.ts";
import { glob } from "../base/text/glob.ts";
import { isInside, realPath } from "../base/file/path.ts";

export type Decision = ToolRule["decision"];

/** The decision depends on the project of the call, which is not resolved yet. */
type NeedsProject = "needs project";

const STRICTEST: readonly Decision[] = ["deny", "ask", "allow"];

/** The stricter one of two decisions. */
export function stricter(one: Decision, other: Decision): Decision {
  return STRICTEST.find((decision) => decision === one || decision === other) ?? "deny";
}

/** A decision for the calls that match. A member that is left out matches every call. */
export type PolicyRule = ToolRule;

export interface PolicySettings {
  readonly default: Decision;
  /** The first rule that fits a call decides. */
  readonly rules: readonly PolicyRule[];
}

/** A tool and who wants it. */
export interface PolicySubject {
  readonly tool: string;
  readonly server?: string | undefined;
  readonly caller: Caller;
  readonly project?: Project | undefined;
}

/** One call. */
export interface PolicyQuestion extends PolicySubject {
  readonly args: Arguments;
}

/** A rule whose patterns are compiled. */
interface CompiledRule {
  readonly decision: Decision;
  /** Whether the tool and the caller match; "perhaps" where the arguments or the project decide. */
  fits(subject: PolicySubject): boolean | "perhaps";
  fitsArguments(args: Arguments): boolean;
}

/** Decides which calls may be made. */
export class Policy {
  readonly #default: Decision;
  readonly #rules: readonly CompiledRule[];
  /** Whether any rule denies anything: if not, lists need no filtering. */
  readonly denies: boolean;

  constructor(settings: PolicySettings = { default: "allow", rules: [] }) {
    this.#default = settings.default;
    this.#rules = settings.rules.map(compileRule);
    const decisions = [settings.default, ...settings.rules.map(({ decision }) => decision)];
    this.denies = decisions.includes("deny");
  }

  decide(question: PolicyQuestion): Decision | NeedsProject {
    return this.says(question) ?? this.#default;
  }

  /** The decision of the first rule that matches; undefined where none does. */
  says(question: PolicyQuestion): Decision | NeedsProject | undefined {
    for (const rule of this.#rules) {
      const fits = rule.fits(question);
      if (fits === false || !rule.fitsArguments(question.args)) continue;
      return fits === true ? rule.decision : "needs project";
    }
    return undefined;
  }

  /** Whether every call of a tool is denied, whatever its arguments: then it is not listed. */
  hides(subject: PolicySubject): boolean {
    for (const rule of this.#rules) {
      const fits = rule.fits(subject);
      if (fits === false) continue;
      if (rule.decision !== "deny") return false;
      if (fits === true && rule.fitsArguments === always) return true;
    }
    return this.#default === "deny";
  }
}

function compileRule(rule: PolicyRule): CompiledRule {
  const fitsTool = glob(rule.tool);
  const fitsServer = rule.server === undefined ? undefined : glob(rule.server);
  const fitsCaller = rule.caller === undefined ? undefined : glob(rule.caller);
  const isAbout = rule.project === undefined ? undefined : folderCheck(rule.project, rule.decision);
  const args = Object.entries(rule.arguments ?? {}).map(
    ([name, text]) => [name, glob(text)] as const,
  );
  return {
    decision: rule.decision,
    fits({ tool, server, caller, project }) {
      if (!fitsTool(tool)) return false;
      if (fitsServer !== undefined && (server === undefined || !fitsServer(server))) return false;
      if (fitsCaller !== undefined && !fitsCaller(caller.name) && !fitsCaller(caller.door)) {
        return false;
      }
      if (isAbout === undefined) return true;
      return project === undefined ? "perhaps" : isAbout(project);
    },
    fitsArguments:
      args.length === 0
        ? always
        : (given) => args.every(([name, fits]) => fits(textOf(given, name))),
  };
}

const always = (): boolean => true;

/**
 * If the call may mean several folders, a rule that allows matches only if all of them are in its folder; any
 * other rule matches if one is. The rule's folder is resolved with each call: its symbolic links may change,
 * and it may be created later.
 */
function folderCheck(folder: string, decision: Decision): (project: Project) => boolean {
  return ({ folders }) => {
    const real = realPath(folder);
    const isIn = (path: string): boolean => isInside(path, real);
    return decision === "allow"
      ? folders.length > 0 && folders.every((path) => isIn(path))
      : folders.some((path) => isIn(path));
  };
}

/** An argument as text: a string as it is, anything else as JSON, "" when it is missing. */
function textOf(args: Arguments, name: string): string {
  const value = Object.hasOwn(args, name) ? args[name] : undefined;
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value);
}

type CallOrigin = Pick<ToolContext, "caller" | "project" | "profile">;

/** The decision of the policy, or of the caller's profile where that is stricter. */
export function decisionOn(
  policy: Policy,
  tool: Tool,
  args: Arguments,
  calling: CallOrigin,
): Decision | NeedsProject {
  const question = questionOn(tool, args, calling);
  const decision = policy.decide(question);
  const ofProfile = calling.profile?.policy?.decide(question);
  if (ofProfile === undefined) return decision;
  if (decision === "needs project" || ofProfile === "needs project") return "needs project";
  return stricter(decision, ofProfile);
}

/** The tools that a caller sees, under the names that they have for it. */
export function visibleTools(
  policy: Policy,
  all: readonly Tool[],
  calling: CallOrigin,
): readonly Tool[] {
  const { profile } = calling;
  const denying = [policy, profile?.policy].filter((each) => each?.denies === true);
  const allowed = (tool: Tool): boolean => {
    const subject = questionOn(tool, {}, calling);
    return !denying.some((each) => each?.hides(subject));
  };
  const left = denying.length === 0 ? all : all.filter(allowed);
  if (profile === undefined) return left;
  return left
    .filter((tool) => profile.hasTool(tool) && profile.suspension(tool) === undefined)
    .map((tool) => profile.shown(tool));
}

/** The question that a policy answers about a call. */
export function questionOn(
  { definition, source }: Tool,
  args: Arguments,
  { caller, project }: CallOrigin,
): PolicyQuestion {
  return { tool: definition.name, server: source?.server, caller, project, args };
}

/**
 * Why a principal may not call a tool, and what to do about it; undefined if it may. Without `args`, whether
 * it may call the tool with some arguments.
 */
export function toolRefusal(
  principal: Principal,
  tool: Pick<Tool, "definition" | "scope" | "source" | "bringer" | "project">,
  args?: Arguments,
): string | undefined {
  const { definition, scope = "tools" } = tool;
  const { name } = definition;
  // The common case first: the owner has no limits.
  if (principal.scopes === undefined && principal.limits === undefined) return undefined;
  const refusal = scopeRefusal(principal, scope, `The tool '${name}'`);
  if (refusal !== undefined) return refusal;
  const option = `--tool ${name}`;
  if (!mayUseTool(principal, name)) return limitRefusal(principal, `the tool '${name}'`, option);
  // Another server may wrongly declare a tool read-only.
  const onlyReads = isOurs(tool) && definition.annotations?.readOnlyHint === true;
  if (!mayControl(principal) && !onlyReads) {
    const what = `the tool '${name}', since it may only watch and the tool may change something`;
    return limitRefusal(principal, what, "(without --observe)");
  }
  const { limits } = principal;
  // A token that names such a tool allows it to work anywhere.
  if (limits?.tools !== undefined || !isPlaced(principal)) return undefined;
  const isOfPlace = args === undefined ? tool.project !== undefined : isAbout(tool, args);
  if (isOurs(tool) && isOfPlace) return undefined;
  const what = isOurs(tool)
    ? "for what belongs to no folder"
    : "of another program, which may work in any folder";
  return limitRefusal(principal, `the tool '${name}' ${what}`, option);
}

/**
 * Whether a principal may use resources, prompts and notices. A principal that is limited to certain tools or
 * places may not, because it is unknown which of these belong to them.
 */
export function mayHave(principal: Principal, scope: Scope = "tools"): boolean {
  return (
    hasScope(principal, scope) && principal.limits?.tools === undefined && !isPlaced(principal)
  );
}

/** Whether it is limited to folders or repositories. */
function isPlaced({ limits }: Principal): boolean {
  return limits?.folders !== undefined || limits?.repositories !== undefined;
}

/** Only our own tools say which project they work on. */
function isOurs({ source, bringer }: Pick<Tool, "source" | "bringer">): boolean {
  return source === undefined && bringer === undefined;
}

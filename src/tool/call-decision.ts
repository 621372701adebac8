import {
  type Decision,
  type Policy,
  type PolicyQuestion,
  type PolicySubject,
  stricter,
} from "./policy.ts";
import type { Arguments, Tool, ToolContext } from "./tool.ts";

type Calling = Pick<ToolContext, "caller" | "project" | "profile">;

/** What the policy says of a call, or the caller's profile where that is stricter. */
export function decisionOn(
  policy: Policy,
  tool: Tool,
  args: Arguments,
  calling: Calling,
): Decision {
  const question = questionOn(tool, args, calling);
  const decision = policy.decide(question);
  const ofProfile = calling.profile?.policy?.decide(question);
  return ofProfile === undefined ? decision : stricter(decision, ofProfile);
}

/** Whether that depends on the project of the call, which is not resolved yet. */
export function needsProject(
  policy: Policy,
  tool: Tool,
  args: Arguments,
  calling: Calling,
): boolean {
  const question = questionOn(tool, args, calling);
  if (policy.needsProject(question)) return true;
  return calling.profile?.policy?.needsProject(question) ?? false;
}

/** The tools that a caller sees, under the names that they have for it. */
export function visibleTools(
  policy: Policy,
  all: readonly Tool[],
  calling: Calling,
): readonly Tool[] {
  const { profile } = calling;
  const denying = [policy, profile?.policy].filter((each) => each?.denies === true);
  const allowed = (tool: Tool): boolean => {
    const subject = subjectOf(tool, calling);
    return !denying.some((each) => each?.hides(subject));
  };
  const left = denying.length === 0 ? all : all.filter(allowed);
  if (profile === undefined) return left;
  return left.filter((tool) => profile.hasTool(tool)).map((tool) => profile.shown(tool));
}

/** A call, as a policy is asked about it. */
export function questionOn(tool: Tool, args: Arguments, calling: Calling): PolicyQuestion {
  return { ...subjectOf(tool, calling), args };
}

function subjectOf({ definition, source }: Tool, { caller, project }: Calling): PolicySubject {
  return { tool: definition.name, server: source?.server, caller, project };
}

import { mask } from "../base/mask.ts";
import type { Arguments, ToolContext } from "./tool.ts";

/** What a form for the person says back (MCP, "Elicitation"). */
interface FormAnswer {
  readonly action?: unknown;
}

/** Asks the person behind a call whether it may be made. Resolves to why not, or to nothing. */
export async function askPerson(
  tool: string,
  args: Arguments,
  context: ToolContext,
): Promise<string | undefined> {
  const { caller } = context;
  const shown = JSON.stringify(mask(args));
  const message = `${caller.name} wants to call '${tool}' with ${shown}. Allow it?`;
  try {
    const answer = (await context.ask({
      method: "elicitation/create",
      params: { mode: "form", message, requestedSchema: { type: "object", properties: {} } },
    })) as FormAnswer;
    if (answer.action === "accept") return undefined;
    return `'${tool}' was not allowed by the person who was asked`;
  } catch {
    return (
      `'${tool}' needs a person's consent, and this client cannot ask for it. ` +
      `To allow it, add a rule to policy.tools in the configuration.`
    );
  }
}

import { LARGEST_QUESTION } from "../base/limit/limits.ts";
import { maskWords } from "../base/text/mask.ts";
import { visibleLine } from "../base/text/visible.ts";
import { type Arguments, CannotAsk, type ToolContext } from "./tool.ts";

/** What a form for the person says back (MCP, "Elicitation"). */
interface FormAnswer {
  readonly action?: unknown;
}

/**
 * Asks the person behind a call whether it may be made, and shows its arguments whole. Resolves to
 * the reason for a refusal, or to undefined when the person allows the call.
 */
export async function askPerson(
  tool: string,
  args: Arguments,
  context: ToolContext,
): Promise<string | undefined> {
  // The question comes first, because the caller controls what follows it.
  const who = visibleLine(JSON.stringify(context.caller.name.slice(0, 100)));
  const shown = visibleLine(JSON.stringify(maskWords(args)));
  const message = `Allow ${who} to call '${visibleLine(tool)}'? Its arguments: ${shown}`;
  const size = Buffer.byteLength(message);
  if (size > LARGEST_QUESTION) {
    return (
      `'${tool}' needs a person's consent, and its arguments are too long to be shown whole: ` +
      `the question has ${size} bytes, at most ${LARGEST_QUESTION} can be asked. ` +
      `Call it with less at a time.`
    );
  }
  try {
    const answer = (await context.ask({
      // A random key, so that the question cannot be answered before it is asked.
      key: `consent-${crypto.randomUUID()}`,
      method: "elicitation/create",
      params: { mode: "form", message, requestedSchema: { type: "object", properties: {} } },
    })) as FormAnswer;
    if (answer.action === "accept") return undefined;
    return `'${tool}' was not allowed by the person who was asked`;
  } catch (error) {
    if (context.signal.aborted) return `'${tool}' was cancelled before a person allowed it`;
    const why =
      error instanceof CannotAsk
        ? "this client cannot ask for it"
        : "the question for it was not answered";
    return (
      `'${tool}' needs a person's consent, and ${why}. ` +
      `To allow it without, add a rule to policy.tools in the configuration.`
    );
  }
}

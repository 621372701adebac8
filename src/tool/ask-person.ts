import { mask } from "../base/mask.ts";
import { type Arguments, CannotAsk, type ToolContext } from "./tool.ts";

/** More than a person reads; what is beyond it is said to be there. */
const LONGEST_SHOWN = 2000;

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
  // The question first: what a caller can fill at will comes after it.
  const who = plain(JSON.stringify(context.caller.name.slice(0, 100)));
  const message = `Allow ${who} to call '${plain(tool)}'? Its arguments: ${shown(args)}`;
  try {
    const answer = (await context.ask({
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

function shown(args: Arguments): string {
  const text = plain(JSON.stringify(mask(args)));
  if (text.length <= LONGEST_SHOWN) return text;
  return `${text.slice(0, LONGEST_SHOWN)}… (${text.length} characters in all)`;
}

/** Characters that turn text around or do not show would let arguments pass for other ones. */
function plain(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (character) => {
    return `\\u${(character.codePointAt(0) ?? 0).toString(16).padStart(4, "0")}`;
  });
}

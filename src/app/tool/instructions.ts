import { visible, visibleLine } from "../../base/text/visible.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import { OWN_SERVER } from "../../tool/profile/own-server.ts";
import type { Profile } from "../../tool/profile/profile.ts";

const INTRODUCTION =
  "Trunkline connects you with the person's git identities, review comments and other tools.";
/** About our own tools. */
const OURS = `- Git identities: before you commit or push, juggler_status says which identity this repository uses; juggler_detect_identity and juggler_switch put the right one in force. If a commit is refused by the guard, switch instead of bypassing it.
- Review comments: when the person mentions comments or a review, take them with review_claim, change the code, then call review_propose or review_reply on each. review_wait waits for new ones.`;
const OTHERS =
  "- Other tools come from the person's own MCP servers and plugins. A tool that answers that its server is starting, absent or needs a login can be tried again later; tell the person what it says.";
const SEARCH = "- Find tools with search_tools, then call them with call_tool.";

/**
 * What a model is told about the tools when a client connects. Clients put it into the model's context,
 * so it is short, and says only what the tools' own descriptions do not: which tool comes first.
 */
export const INSTRUCTIONS = [INTRODUCTION, OURS, OTHERS].join("\n");

/** Characters of what one server says, and of what all say. A model pays for each of them. */
export const MOST_OF_ONE = 4_000;
export const MOST_OF_ALL = 16_000;

/**
 * Ours first, then what the other servers say that a client sees. Each line of theirs begins with `> `,
 * so that no server can write a heading: neither ours nor another's.
 */
export function instructionsFor(
  { instructions }: Pick<Offer, "instructions">,
  profile?: Profile,
  person?: string,
): string {
  const parts = [ours(profile)];
  let left = MOST_OF_ALL;
  const leftOut: string[] = [];
  for (const { server, text } of instructions.list(profile, person)) {
    const said = quoted(text);
    if (said === "") continue;
    if (said.length > left) leftOut.push(visibleLine(server));
    else parts.push(`## The server '${visibleLine(server)}' says about itself\n\n${said}`);
    left -= Math.min(left, said.length);
  }
  if (leftOut.length > 0)
    parts.push(`Too long to be shown: the instructions of ${leftOut.join(", ")}.`);
  return parts.join("\n\n");
}

function ours(profile: Profile | undefined): string {
  if (profile === undefined) return INSTRUCTIONS;
  return [
    INTRODUCTION,
    ...(profile.hasServer(OWN_SERVER) ? [OURS] : []),
    OTHERS,
    ...(profile.search === undefined ? [] : [SEARCH]),
  ].join("\n");
}

/**
 * A text of somebody else as a quotation, with nothing in it that is not seen. After `visible`, only
 * `\n` ends a line, whatever some program takes for the end of one.
 */
function quoted(text: string): string {
  const seen = visible(text.trim().replaceAll("\r\n", "\n"));
  if (seen === "") return "";
  const lines = seen.slice(0, MOST_OF_ONE).split("\n");
  if (seen.length > MOST_OF_ONE) lines.push("(The rest is left out.)");
  return lines.map((line) => `> ${line}`.trimEnd()).join("\n");
}

import { text as readAll } from "node:stream/consumers";

import { TrunklineError } from "../../base/errors.ts";
import type { ChatInvocation } from "./open-chat.ts";

/** `trunkline chat [PROMPT]` */
export async function chat(invocation: ChatInvocation): Promise<number> {
  const { values, positionals, isTerminal } = invocation;
  const given = positionals.join(" ");
  if (values.session !== undefined && values.agent !== undefined) {
    const says = "a session keeps the agent that it began with";
    throw new TrunklineError("usage", `Cannot use --agent with --session: ${says}.`);
  }
  const isOwn = values.worktree === true || values.branch !== undefined;
  if (values.session !== undefined && isOwn) {
    const says = "a session keeps the folder that it began with";
    throw new TrunklineError("usage", `Cannot use --worktree with --session: ${says}.`);
  }
  const isPerson = process.stdin.isTTY && isTerminal && values.json !== true;
  if (given === "" && isPerson) {
    // A dumb terminal can neither move its cursor nor erase.
    const isPlain = values.plain === true || invocation.env.TERM === "dumb";
    const talk = isPlain
      ? (await import("./plain-conversation.ts")).conversePlainly
      : (await import("./converse.ts")).converse;
    let next = invocation;
    for (;;) {
      const moving = await talk(next);
      if (moving === undefined) return 0;
      next = await (await import("./move-chat.ts")).moveChat(next, moving);
    }
  }
  if (given === "" && process.stdin.isTTY) {
    const why = "there is no terminal to talk at";
    throw new TrunklineError("usage", `Cannot start a conversation: ${why}. Give a PROMPT.`);
  }
  const prompt = given === "" ? (await readAll(process.stdin)).trim() : given;
  if (prompt === "") throw new TrunklineError("usage", "Cannot ask: the prompt is empty.");
  return await (await import("./ask-once.ts")).askOnce(invocation, prompt);
}

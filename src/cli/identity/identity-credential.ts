import { text as readAll } from "node:stream/consumers";

import type { Invocation } from "../shell/command.ts";
import { openCommands } from "./open-identities.ts";

/** `trunkline identity credential OPERATION`: what git calls, and nobody else. */
export async function credential(invocation: Invocation): Promise<number> {
  const { positionals, data, err } = invocation;
  const [operation = ""] = positionals;
  // Git may come to know more of these; a helper leaves those alone (gitcredentials(7)).
  if (!["get", "store", "erase"].includes(operation)) return 0;
  const question = await readAll(process.stdin);
  let text = operation === "get" ? "quit=1\n" : "";
  try {
    await using commands = await openCommands(invocation);
    const verdict = await commands.credential(operation, question);
    text = verdict.text;
    if (verdict.refused !== undefined) err(`trunkline: ${verdict.refused}\n`);
    return 0;
  } finally {
    data(text);
  }
}

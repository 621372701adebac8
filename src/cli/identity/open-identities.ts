import { IdentityCommands } from "../../identity/identity-commands.ts";
import { askSecret } from "../shell/ask-secret.ts";
import type { Invocation } from "../shell/command.ts";
import { identityOptions, repair } from "./identity-options-of.ts";

/** The identities with their tokens and their guard. Whoever opens it disposes of it. */
export async function openCommands(invocation: Invocation): Promise<IdentityCommands> {
  const options = await identityOptions(invocation);
  const canAsk = process.stdin.isTTY && process.stderr.isTTY;
  const commands = new IdentityCommands({ ...options, ...(canAsk ? { ask: askSecret } : {}) });
  await repair(invocation, commands.identities);
  return commands;
}

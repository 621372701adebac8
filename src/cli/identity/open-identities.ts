import { identitiesOptions } from "../../identity/open/open-identities.ts";
import { Identities, type IdentitiesOptions } from "../../identity/identities.ts";
import type { IdentityCommands } from "../../identity/identity-commands.ts";
import { askSecret } from "../shell/ask.ts";
import type { Invocation } from "../shell/command.ts";
import { configFlags, openApp } from "../shell/open-app.ts";

/** The configuration, environment and folder that a command line gives to the identities. */
export async function identityOptions(invocation: Invocation): Promise<IdentitiesOptions> {
  const { config } = await openApp(invocation);
  const { env, cwd, values } = invocation;
  return identitiesOptions(config, { env, cwd, flags: configFlags(values) });
}

/** Finishes or undoes a change that a crash interrupted, and says so. */
export async function repair(invocation: Invocation, identities: Identities): Promise<void> {
  const recovery = await identities.recover();
  if (recovery !== undefined) invocation.err(`trunkline: ${recovery.says}\n`);
}

/** The identities alone. */
export async function openIdentities(invocation: Invocation): Promise<Identities> {
  const identities = new Identities(await identityOptions(invocation));
  await repair(invocation, identities);
  return identities;
}

/**
 * The identities with their tokens and their guard, which the caller disposes of. Loaded only here:
 * commands that read identities start faster without it. `asks`: a person may be asked for a passphrase.
 */
export async function openCommands(
  invocation: Invocation,
  { asks = true }: { readonly asks?: boolean } = {},
): Promise<IdentityCommands> {
  const [options, { IdentityCommands }] = await Promise.all([
    identityOptions(invocation),
    import("../../identity/identity-commands.ts"),
  ]);
  const canAsk = asks && process.stdin.isTTY && process.stderr.isTTY;
  const commands = new IdentityCommands({ ...options, ...(canAsk ? { ask: askSecret } : {}) });
  await repair(invocation, commands.identities);
  return commands;
}

import type { Config } from "../../../config/config.ts";
import { identitiesOptions } from "../../../identity/open/open-identities.ts";
import { visibleLine } from "../../../base/text/visible.ts";
import { IdentityCommands } from "../../../identity/identity-commands.ts";
import type { Invocation } from "../../../cli/shell/command.ts";
import { configFlags } from "../../../cli/shell/open-app.ts";
import { byCommand, type Finding } from "../finding.ts";

/** The guard of this repository, and what the identities lack on this machine. */
export async function checkIdentities(
  config: Config,
  { cwd, env, values }: Pick<Invocation, "cwd" | "env" | "values">,
): Promise<Finding[]> {
  const options = identitiesOptions(config, { cwd, env, flags: configFlags(values) });
  // Without `ask`: nobody is asked for a passphrase.
  await using commands = new IdentityCommands(options);
  const list = commands.identities.list;
  const [guard, ...parts] = await Promise.all([
    checkGuard(commands, cwd),
    ...list.map(({ name }) => checkIdentity(commands, name)),
  ]);
  return [...guard, ...parts.flat()];
}

async function checkIdentity(commands: IdentityCommands, name: string): Promise<Finding[]> {
  const what = `Identity '${visibleLine(name)}'`;
  const { missing } = await commands.readiness(name);
  if (missing.length === 0) return [{ state: "ok", what, says: "has all its keys" }];
  return missing.map(({ outcome, says, command }): Finding => {
    // Git works without a token: it asks for a password, or uses SSH.
    const state = outcome === "fail" ? "fail" : "ok";
    return { state, what, says, ...(command === undefined ? {} : byCommand(command)) };
  });
}

const GUARD = "Guard";

/** A guard that cannot be run refuses every commit. Having none is fine. */
async function checkGuard(commands: IdentityCommands, cwd: string): Promise<Finding[]> {
  const { worktree } = await commands.identities.status(cwd);
  if (worktree === undefined) return [];
  const { guarded, isInstalled, broken, says } = await commands.guardStatus(cwd);
  if (guarded.length === 0) return [];
  if (isInstalled && broken === undefined) return [{ state: "ok", what: GUARD, says }];
  const fix = {
    does: `Install the guard of ${worktree} again`,
    apply: () => commands.installGuard(cwd),
  };
  const remedy = byCommand("trunkline identity guard install");
  return [{ state: "fail", what: GUARD, says: broken ?? says, ...remedy, fix }];
}

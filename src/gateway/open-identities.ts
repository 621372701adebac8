import { existsSync } from "node:fs";

import type { House } from "./house.ts";
import type { IdentityCommands } from "../identity/identity-commands.ts";

/** The identities as they are configured now: some may have been added since the start. */
export async function identitiesAtHand(
  { config: { data }, reloading }: House,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<IdentityCommands> {
  const { IdentityCommands } = await import("../identity/identity-commands.ts");
  const { loadConfig } = await import("./config/load.ts");
  // The user's own comes first; as long as it is not there, nobody can have named it.
  const [file] = reloading?.files ?? [];
  const configFile = file !== undefined && existsSync(file) ? file : undefined;
  const { config } = await loadConfig({ cwd: folder, env, flags: { config: configFile, data } });
  return new IdentityCommands({ config, env, cwd: folder, configFile });
}

import { existsSync } from "node:fs";

import type { ActsAs, AgentIdentity } from "../agent/command-environment.ts";
import type { Config, ConfigInput } from "./config/config.ts";
import { userFile } from "./config/locations.ts";
import type { House } from "./house.ts";
import type { IdentitiesOptions } from "../identity/identities.ts";
import type { IdentityCommands } from "../identity/identity-commands.ts";

/** What the identities of a configuration are opened with. */
export function identitiesOptions(
  config: Pick<Config, "identities" | "data" | "x-juggler">,
  input: ConfigInput,
): IdentitiesOptions {
  const { data } = config;
  const { cwd, env } = input;
  const { path, namedBy } = userFile(input);
  return {
    settings: config.identities,
    juggler: config["x-juggler"],
    data,
    env,
    cwd,
    file: {
      path,
      isNamed: namedBy !== undefined,
      edit: async (edits) => {
        const { editConfigFile } = await import("./config/file/edit-file.ts");
        await editConfigFile(path, edits, { env, data });
      },
      check: async (settings) => {
        const { checkIdentitySettings } = await import("./config/schema/schema.gen.ts");
        return checkIdentitySettings(settings);
      },
    },
  };
}

/** The identities as the files configure them now: some may have been added since the start. */
export async function currentIdentities(
  { config: { data }, reloading }: House,
  folder: string,
  env: NodeJS.ProcessEnv,
): Promise<IdentityCommands> {
  const { IdentityCommands } = await import("../identity/identity-commands.ts");
  const { loadConfig } = await import("./config/load.ts");
  // The user's own file comes first; as long as it does not exist, nobody can have named it.
  const [file] = reloading?.files ?? [];
  const configFile = file !== undefined && existsSync(file) ? file : undefined;
  const input = { cwd: folder, env, flags: { config: configFile, data } };
  const { config } = await loadConfig(input);
  return new IdentityCommands(identitiesOptions(config, input));
}

/**
 * The identity that an agent has to git in a folder: the one that its configuration names, else the
 * one detected for the folder. Without one, it acts as the user who runs us.
 */
export function agentIdentity(
  house: House,
  chosen: string | undefined,
  env: NodeJS.ProcessEnv = process.env,
): ActsAs {
  return async (cwd) => {
    await using commands = await currentIdentities(house, cwd, env);
    const actAs = (name: string): AgentIdentity => {
      // Throws where the identity is not usable, before an agent is started with another.
      commands.environment(name, {});
      return { name, environment: (base) => commands.environment(name, base) };
    };
    if (chosen !== undefined) return actAs(chosen);
    if (commands.identities.list.length === 0) return undefined;
    try {
      const name = await commands.identities.right(cwd);
      return name === undefined ? undefined : actAs(name);
    } catch (error) {
      house.log.warn("agent.no-identity", { cwd, error });
      return undefined;
    }
  };
}

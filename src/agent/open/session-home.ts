import { createHash } from "node:crypto";

import { keyVariables } from "../models/provider.ts";
import { runningGateways } from "../../store/access/running-gateways.ts";
import type { Config } from "../../config/config.ts";

/** Variables that affect agents, in addition to the keys of models. */
const VARIABLES = ["PATH", "SSH_AUTH_SOCK", "TRUNKLINE_TOKEN_STORE"];

/** A digest of everything that sessions depend on: the configuration, and the environment of agents. */
export function digestSettings(config: Config, env: NodeJS.ProcessEnv): string {
  const { serve: _serve, log: _log, ...rest } = config;
  const names = [...VARIABLES, ...keyVariables(config.models)].toSorted();
  const variables = names.map((name) => [name, env[name]]);
  return createHash("sha256")
    .update(JSON.stringify([rest, variables]))
    .digest("base64url");
}

/**
 * The holder id of the running gateway of a data folder, in which sessions are opened. Undefined if none
 * runs, or if agents would have other settings there than in this process.
 */
export async function sessionHome(
  config: Config,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const gateways = await runningGateways(config.data);
  if (gateways.length === 0) return undefined;
  const settings = digestSettings(config, env);
  return gateways.find((gateway) => gateway.settings === settings)?.holder;
}

import { Identities } from "../gateway/identities.ts";
import type { Invocation } from "./command.ts";
import { openHouse } from "./open-house.ts";

/** The identities, after whatever a crash left half done has been repaired. */
export async function openIdentities(invocation: Invocation): Promise<Identities> {
  const { config } = await openHouse(invocation);
  const { env, cwd, values } = invocation;
  const configFile = typeof values.config === "string" ? values.config : undefined;
  const identities = new Identities({ config, env, cwd, configFile });
  const recovery = await identities.recover();
  if (recovery !== undefined) invocation.err(`trunkline: ${recovery.says}\n`);
  return identities;
}

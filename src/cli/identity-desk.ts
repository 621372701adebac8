import { IdentityDesk } from "../gateway/identity-desk.ts";
import type { Invocation } from "./command.ts";
import { askSecret } from "./ask-secret.ts";
import { openHouse } from "./open-house.ts";

/** The identities with their tokens and their guard. Whoever opens it disposes of it. */
export async function openDesk(invocation: Invocation): Promise<IdentityDesk> {
  const { config } = await openHouse(invocation);
  const { env, cwd, values } = invocation;
  const configFile = typeof values.config === "string" ? values.config : undefined;
  const canAsk = process.stdin.isTTY && process.stderr.isTTY;
  const desk = new IdentityDesk({
    config,
    env,
    cwd,
    configFile,
    ...(canAsk ? { ask: askSecret } : {}),
  });
  const recovery = await desk.identities.recover();
  if (recovery !== undefined) invocation.err(`trunkline: ${recovery.says}\n`);
  return desk;
}

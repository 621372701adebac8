import { serveAcpOnStdio } from "../gateway/acp-on-stdio.ts";
import type { Invocation } from "./command.ts";
import { openHouse } from "./open-house.ts";

/** `trunkline acp` */
export async function run(invocation: Invocation): Promise<number> {
  await serveAcpOnStdio(await openHouse(invocation));
  return 0;
}

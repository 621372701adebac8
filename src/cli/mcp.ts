import { serveMcpOnStdio } from "../gateway/mcp-on-stdio.ts";
import type { Invocation } from "./command.ts";
import { openHouse } from "./open-house.ts";

/** `trunkline mcp` */
export async function run(invocation: Invocation): Promise<number> {
  await serveMcpOnStdio(await openHouse(invocation));
  return 0;
}

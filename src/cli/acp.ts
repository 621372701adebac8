import { serveAcpOnStdio } from "../gateway/acp-on-stdio.ts";
import { repairIdentities } from "../gateway/identities-repair.ts";
import type { Invocation } from "./command.ts";
import { openLastingHouse } from "./open-house.ts";

interface AcpValues {
  readonly agent?: string;
  readonly dialect: string;
  readonly [option: string]: string | undefined;
}

/** `trunkline acp` */
export async function run(invocation: Invocation<AcpValues>): Promise<number> {
  const { agent, dialect } = invocation.values;
  const house = await openLastingHouse(invocation);
  await using _repair = repairIdentities(house);
  if (dialect === "juggler") {
    const { serveJugglerOnStdio } = await import("../gateway/juggler-on-stdio.ts");
    await serveJugglerOnStdio(house);
  } else await serveAcpOnStdio(house, { agent, hasActions: dialect !== "acp" });
  return 0;
}

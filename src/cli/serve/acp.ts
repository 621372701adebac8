import { serveAcpOnStdio, serveJugglerOnStdio } from "../../app/door/acp-on-stdio.ts";
import { repairIdentities } from "../../identity/switch/repair.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { openLastingHouse } from "../shell/open-house.ts";

type AcpValues = OptionValues<"agent", "worktree"> & { readonly dialect: string };

/** `trunkline acp` */
export async function run(invocation: Invocation<AcpValues>): Promise<number> {
  const { agent, dialect, worktree } = invocation.values;
  const house = await openLastingHouse(invocation);
  await using _repair = repairIdentities(house.config.data, house.log);
  if (dialect === "juggler") await serveJugglerOnStdio(house);
  else await serveAcpOnStdio(house, { agent, worktree, hasActions: dialect !== "acp" });
  return 0;
}

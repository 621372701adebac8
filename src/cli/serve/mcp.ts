import { TrunklineError } from "../../base/errors.ts";
import { repairIdentities } from "../../identity/switch/repair.ts";
import { serveMcpOnStdio } from "../../gateway/door/mcp-on-stdio.ts";
import type { Invocation } from "../shell/command.ts";
import { openLastingHouse } from "../shell/open-house.ts";

/** `trunkline mcp` */
export async function run(invocation: Invocation): Promise<number> {
  const house = await openLastingHouse(invocation);
  await using _repair = repairIdentities(house.config.data, house.log);
  const { "orchestrator-addr": address, "certs-dir": certsDir } = invocation.values;
  if (typeof address === "string") {
    const { serveBridge } = await import("../../gateway/door/mcp-bridge.ts");
    await serveBridge(house, {
      address,
      certsDir: typeof certsDir === "string" ? certsDir : undefined,
      tell: (line) => invocation.err(`trunkline: ${line}\n`),
    });
  } else if (certsDir === undefined) await serveMcpOnStdio(house);
  else {
    const why = "certificates are only for a plugin bus";
    throw new TrunklineError(
      "usage",
      `Cannot use '--certs-dir': ${why}. Add '--orchestrator-addr'.`,
    );
  }
  return 0;
}

import { House } from "../../gateway/house.ts";
import type { Invocation } from "./command.ts";
import { openHouse } from "./open-house.ts";

/** The house for a command that is over in a moment: its log keeps to what went wrong. */
export async function quietHouse(invocation: Invocation): Promise<House> {
  const { config } = await openHouse(invocation);
  return new House(
    config.log.verbose ? config : { ...config, log: { level: "error", verbose: false } },
  );
}

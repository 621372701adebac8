import { setTimeout as delay } from "node:timers/promises";

import type { Invocation, OptionValues } from "../shell/command.ts";
import { openHouse } from "../shell/open-house.ts";
import { openData } from "../../config/data-folder.ts";
import { fleetValues } from "../../config/fleet-flags.ts";
import { Fleet } from "../../fleet/open/fleet.ts";

/** Milliseconds in which each node tells that it is alive, and some more. */
const HEARD_WITHIN = 1_500;

export type FleetValues = OptionValues<"bus" | "pool">;

/** The pool, as somebody sees it who is no part of it. */
export async function observeFleet(invocation: Invocation<FleetValues>): Promise<Fleet> {
  const { bus, pool } = invocation.values;
  const house = await openHouse(invocation, { more: fleetValues({ bus, pool }) });
  openData(house.config.data);
  const fleet = await Fleet.connect(house, { role: "observer", isTyped: bus !== undefined });
  fleet.members.join();
  await delay(HEARD_WITHIN);
  return fleet;
}

import { setTimeout as delay } from "node:timers/promises";

import type { Invocation, Values } from "../shell/command.ts";
import { openApp } from "../shell/open-app.ts";
import { openData } from "../../config/data-folder.ts";
import { fleetValues } from "../../config/fleet-flags.ts";
import { Fleet } from "../../fleet/open/fleet.ts";

/** Milliseconds in which each node tells that it is alive, and some more. */
const HEARD_WITHIN = 1_500;

export interface FleetValues extends Values {
  readonly bus?: string;
  readonly pool?: string;
  readonly json?: boolean;
}

/** The pool, as somebody sees it who is no part of it. */
export async function observeFleet(invocation: Invocation<FleetValues>): Promise<Fleet> {
  const { bus, pool } = invocation.values;
  const app = await openApp(invocation, { more: fleetValues({ bus, pool }) });
  openData(app.config.data);
  const fleet = await Fleet.connect(app, { role: "observer", isTyped: bus !== undefined });
  fleet.members.join();
  await delay(HEARD_WITHIN);
  return fleet;
}

import type { Invocation } from "../shell/command.ts";
import { openLastingApp } from "../shell/open-app.ts";
import { ConfiguredBus } from "../../plugin/open/configured-bus.ts";
import { openData } from "../../config/data-folder.ts";
import { fleetValues } from "../../config/fleet-flags.ts";
import { Worker } from "../../app/fleet/worker.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import { openTools } from "../../app/tool/open-tools.ts";
import { repairIdentities } from "../../identity/switch/repair.ts";
import { counted } from "../shell/layout.ts";

interface WorkerValues {
  readonly [name: string]: string | boolean | readonly string[] | undefined;
  readonly bus?: string;
  readonly pool?: string;
  readonly name?: string;
  readonly slots?: string;
  readonly label?: readonly string[];
  readonly json?: boolean;
}

/** Exit code of a worker that was drained: whatever started it must not start it again. */
export const DRAINED = 100;

/** `trunkline worker` */
export async function run(invocation: Invocation<WorkerValues>): Promise<number> {
  const { values, out } = invocation;
  const { bus: url, pool, name, slots, label } = values;
  const signalled = untilSignal();
  const app = await openLastingApp(invocation, {
    more: fleetValues({ bus: url, pool, name, slots, label }),
  });
  const { config, log, reloading } = app;
  openData(config.data);
  await using _repair = repairIdentities(config.data, log);
  // The tools of other nodes need approvals, too.
  const kind = { isLasting: true, hasOwnBus: true, isShared: true, needsApprovals: true };
  await using tools = await openTools(app, kind);
  await using plugins = new ConfiguredBus({ config, log, reloading, offer: tools.offer });
  if (plugins.isWanted) await plugins.open();
  const isTyped = url !== undefined;
  await using worker = await Worker.open(app, { offer: tools.offer, isTyped });
  const { self } = worker.fleet;
  if (values.json === true) {
    out(`${JSON.stringify({ ready: true, name: self.name, pid: process.pid })}\n`);
  } else {
    const { fleet } = config;
    const places = counted(fleet.slots, "slot");
    out(`Worker ${self.name} has ${places} for pool '${fleet.pool}'. Stop it with Ctrl-C.\n`);
  }
  const drained = worker.drained.then(() => DRAINED);
  const refused = worker.fleet.untilRefused(app.log);
  return await Promise.race([signalled.then(() => 0), drained, refused]);
}

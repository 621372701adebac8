import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { TrunklineError } from "../../base/errors.ts";
import { suggest } from "../../base/text/suggest.ts";
import { newUser } from "../../fleet/connection/credentials.ts";
import { askNode } from "../../fleet/connection/node-server.ts";
import type { Member } from "../../fleet/members/members.ts";
import { configuredBus } from "../../plugin/open/configured-bus.ts";
import { openData } from "../../config/data-folder.ts";
import { fleetValues } from "../../config/fleet-flags.ts";
import { NODE_NAME } from "../../fleet/subjects.ts";
import { connectFleet, type Fleet } from "../../fleet/open/fleet.ts";
import { openWorker } from "../../app/fleet/worker.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import { counted } from "../../base/text/counted.ts";
import { openTools } from "../../app/tool/open-tools.ts";
import { repairIdentities } from "../../identity/switch/repair.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { print, table } from "../shell/layout.ts";
import { openApp, openLastingApp, openQuietApp } from "../shell/open-app.ts";

type WorkerValues = OptionValues<"bus" | "pool" | "name" | "slots", never, "label">;

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
  await using plugins = configuredBus({ config, log, reloading, offer: tools.offer });
  if (plugins.isWanted) await plugins.open();
  const isTyped = url !== undefined;
  await using worker = await openWorker(app, { offer: tools.offer, isTyped });
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

/** `trunkline worker drain` */
export async function drain(invocation: Invocation<FleetValues>): Promise<number> {
  await using fleet = await observeFleet(invocation);
  const [name = fleet.self.name] = invocation.positionals;
  const worker = workerNamed(fleet, name);
  const isJson = invocation.values.json === true;
  // A worker without sessions may be gone before its answer is read.
  const gone = untilGone(fleet, worker, (left) => {
    if (isJson) return;
    invocation.out(`${name} has ${counted(left, "session")} left.\n`);
  });
  await askNode(fleet.connection, worker, "drain", {});
  if (!isJson) invocation.out(`${name} takes no new sessions.\n`);
  const { isDrained } = await gone;
  if (isDrained !== true) {
    const why = "it ended before all its sessions had moved";
    const next = "Turns that ran there are interrupted, and the sessions go on at other workers";
    throw new TrunklineError("unavailable", `Cannot drain '${name}': ${why}. ${next}.`);
  }
  invocation.out(isJson ? `${JSON.stringify({ drained: name })}\n` : `${name} has ended.\n`);
  return 0;
}

function workerNamed({ members, connection }: Fleet, name: string): Member {
  const workers = members.alive.filter(({ role }) => role === "worker");
  const found = workers.filter((worker) => worker.name === name);
  const [worker] = found;
  if (worker !== undefined && found.length === 1) return worker;
  if (worker !== undefined) {
    const why = `${found.length} workers have that name`;
    throw new TrunklineError("usage", `Cannot drain '${name}': ${why}. Start them with --name.`);
  }
  const { pool } = connection.subjects;
  const names = workers.map((each) => each.name);
  const [near] = suggest(name, names);
  const hint = near === undefined ? "" : ` Did you mean '${near}'?`;
  throw new TrunklineError("not-found", `Pool '${pool}' has no worker '${name}'.${hint}`);
}

/** Resolves when the worker has left the pool, with its last state. */
async function untilGone(
  { members }: Fleet,
  worker: Member,
  tell: (left: number) => void,
): Promise<Member> {
  const gone = Promise.withResolvers<Member>();
  let left = worker.sessions;
  const stop = members.onChange(({ kind, member }) => {
    if (member.id !== worker.id) return;
    if (kind === "lost") gone.resolve(member);
    else if (member.sessions !== left) tell((left = member.sessions));
  });
  using ends = new DisposableStack();
  ends.defer(stop);
  return await gone.promise;
}

/** `trunkline worker list` */
export async function list(invocation: Invocation<FleetValues>): Promise<number> {
  await using fleet = await observeFleet(invocation);
  const { alive } = fleet.members;
  const { pool } = fleet.connection.subjects;
  const next = "Start one with `trunkline worker --bus URL`";
  const none = `Pool '${pool}' has no gateway and no worker. ${next}.\n`;
  const rows = alive.map((member) => [member.name, member.role, useOf(member), detailOf(member)]);
  const text = rows.length === 0 ? none : table([["NAME", "ROLE", "SLOTS", "ABOUT"], ...rows]);
  return print(invocation, { pool, nodes: alive }, text);
}

function useOf({ role, used, slots }: Member): string {
  return role === "worker" ? `${used} of ${slots}` : "";
}

function detailOf({ version, labels, isDraining, sessions, url }: Member): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  const draining = isDraining ? [`draining, ${counted(sessions, "session")} left`] : [];
  return [`version ${version}`, ...(url === undefined ? [] : [url]), ...pairs, ...draining].join(
    ", ",
  );
}

type CredentialsValues = OptionValues<"pool"> & { readonly role: string; readonly out: string };

/** The form of `fleet.name`. */
const NAME = new RegExp(NODE_NAME);
/** One user for all nodes of a role. */
const ANY = "*";

/** `trunkline worker credentials` */
export async function credentials(invocation: Invocation<CredentialsValues>): Promise<number> {
  const { values, positionals, cwd } = invocation;
  const [name = ""] = positionals;
  if (name !== ANY && !NAME.test(name)) {
    const form = "a name has 1 to 64 letters, digits, `-` and `_`";
    throw new TrunklineError("usage", `Cannot make credentials for '${name}': ${form}.`);
  }
  const app = await openQuietApp(invocation, { more: fleetValues({ pool: values.pool }) });
  const { pool } = app.config.fleet;
  const role = values.role === "gateway" ? "gateway" : "worker";
  const { seed, settings } = newUser({ pool, role, name });
  const file = resolve(cwd, values.out);
  try {
    // Never overwrite the credentials of another node: that would lock it out.
    writeFileSync(file, `${seed}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new TrunklineError("usage", `Cannot write the credentials: ${why}.`, { cause: error });
  }
  const whose = name === ANY ? `all ${role}s` : name;
  return print(
    invocation,
    { name, pool, role, file, settings },
    `The secret of ${whose} is in ${file}: name it in \`fleet.credentials\` of the configuration.\n` +
      `Add this user to the account of the pool in the configuration of nats-server, and reload that:\n\n` +
      `# accounts { TL_${pool} { jetstream: enabled, users: [ … ] } }\n${settings}`,
  );
}

/** Milliseconds in which each node sends a heartbeat, and some more. */
const HEARD_WITHIN = 1_500;

type FleetValues = OptionValues<"bus" | "pool">;

/** Observes the pool without joining it. */
async function observeFleet(invocation: Invocation<FleetValues>): Promise<Fleet> {
  const { bus, pool } = invocation.values;
  const app = await openApp(invocation, { more: fleetValues({ bus, pool }) });
  openData(app.config.data);
  const fleet = await connectFleet(app, { role: "observer", isTyped: bus !== undefined });
  fleet.members.join();
  await delay(HEARD_WITHIN);
  return fleet;
}

import { TrunklineError } from "../../base/errors.ts";
import { suggest } from "../../base/text/suggest.ts";
import { askNode } from "../../fleet/connection/node-server.ts";
import type { Member } from "../../fleet/members/members.ts";
import type { Fleet } from "../../fleet/open/fleet.ts";
import type { Invocation } from "../shell/command.ts";
import { type FleetValues, observeFleet } from "./observe-fleet.ts";
import { counted } from "../shell/layout.ts";

/** `trunkline worker drain` */
export async function run(invocation: Invocation<FleetValues>): Promise<number> {
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

/** Resolves when the worker has left the pool, with what it told last. */
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
  try {
    return await gone.promise;
  } finally {
    stop();
  }
}

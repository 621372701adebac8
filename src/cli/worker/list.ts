import type { Member } from "../../fleet/members/members.ts";
import type { Invocation } from "../shell/command.ts";
import { counted, printJson, table } from "../shell/layout.ts";
import { type FleetValues, observeFleet } from "./observe-fleet.ts";

/** `trunkline worker list` */
export async function run(invocation: Invocation<FleetValues>): Promise<number> {
  await using fleet = await observeFleet(invocation);
  const { alive } = fleet.members;
  const { pool } = fleet.connection.subjects;
  if (invocation.values.json === true) return printJson(invocation, { pool, nodes: alive });
  if (alive.length === 0) {
    const next = "Start one with `trunkline worker --bus URL`";
    invocation.out(`Pool '${pool}' has no gateway and no worker. ${next}.\n`);
    return 0;
  }
  const rows = alive.map((member) => [member.name, member.role, useOf(member), detailOf(member)]);
  invocation.out(table([["NAME", "ROLE", "SLOTS", "ABOUT"], ...rows]));
  return 0;
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

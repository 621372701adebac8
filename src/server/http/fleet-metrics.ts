import { gauge, table } from "./exposition.ts";

/** The fleet in figures. */
export interface FleetCounts {
  /** Whether there is a connection to NATS. */
  readonly isConnected: boolean;
  readonly nodes: { readonly gateway: number; readonly worker: number };
  /** Slots of workers. One that drains has no free ones. */
  readonly slots: { readonly used: number; readonly free: number };
  /** Requests that wait for a slot. */
  readonly waiting: number;
  /** Sessions that moved to another node since this gateway started. */
  readonly moves: number;
  /** Sessions that workers have open. */
  readonly sessions: { readonly running: number; readonly idle: number };
}

export function renderFleet({ isConnected, nodes, slots, waiting, moves }: FleetCounts): string {
  return (
    gauge("trunkline_fleet_connected", "Whether NATS is connected.", Number(isConnected)) +
    table("trunkline_fleet_nodes", "gauge", "Nodes that are alive.", "role", nodes) +
    table("trunkline_fleet_slots", "gauge", "Slots of the workers.", "state", slots) +
    gauge("trunkline_fleet_waiting", "Requests that wait for a slot.", waiting) +
    "# HELP trunkline_fleet_moves_total Sessions that moved to another node.\n" +
    `# TYPE trunkline_fleet_moves_total counter\ntrunkline_fleet_moves_total ${moves}\n`
  );
}

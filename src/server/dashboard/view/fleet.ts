import type { FleetState } from "../fleet-api.ts";
import { type ApiRoute, route } from "../../../base/api-route.ts";

/** The nodes, queues and moves of the fleet that the server belongs to. */
export function fleetRoutes(fleet: { readonly state: FleetState }): readonly ApiRoute[] {
  return [route("GET /api/fleet", "admin", async () => fleet.state)];
}

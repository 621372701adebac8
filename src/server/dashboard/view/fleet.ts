import type { FleetState } from "../fleet-api.ts";
import type { ApiRoute } from "../router.ts";

/** The nodes, queues and moves of the fleet that the server belongs to. */
export function fleetRoutes(fleet: { readonly state: FleetState }): readonly ApiRoute[] {
  return [
    {
      method: "GET",
      path: "/api/fleet",
      needs: "admin",
      handle: async () => fleet.state,
    },
  ];
}

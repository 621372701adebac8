import { needAll } from "../access-rules.ts";
import type { FleetState } from "../fleet-api.ts";
import type { ApiRoute } from "../router.ts";

/** The nodes, queues and moves of the fleet that the server belongs to. */
export function fleetRoutes(fleet: { readonly state: FleetState }): readonly ApiRoute[] {
  return [
    {
      method: "GET",
      path: "/api/fleet",
      handle: async ({ principal }) => {
        needAll(principal, "To see the fleet");
        return fleet.state;
      },
    },
  ];
}

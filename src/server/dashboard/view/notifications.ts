import { mayUseAll } from "../../../base/principal.ts";
import { maskText } from "../../../base/text/mask.ts";
import { deliveries, type DeliveryView } from "../../notify/deliveries.ts";
import type { DeliveryRow } from "../api.ts";
import { type ApiRoute, route } from "../../../base/api-route.ts";

const MOST = 50;

/** Notifications and what became of them: a person who got none sees why. Others than the owner see none. */
export function notificationRoutes(data: string): readonly ApiRoute[] {
  return [
    route("GET /api/notifications", "nothing", async ({ principal }) => {
      const found = mayUseAll(principal) ? await deliveries(data, MOST) : [];
      return { deliveries: found.map(rowOf) };
    }),
  ];
}

function rowOf({ id, time, reason, session, receiver, state, ...view }: DeliveryView): DeliveryRow {
  return {
    ...{ id, reason, receiver, state },
    time: Date.parse(time),
    attempts: view.attempts.length,
    ...(session === undefined ? {} : { session }),
    ...(view.result === undefined ? {} : { result: maskText(view.result) }),
  };
}

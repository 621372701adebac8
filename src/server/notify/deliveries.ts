import { statSync } from "node:fs";
import { join } from "node:path";

import { type ApiRoute, route } from "../../base/capability/api-route.ts";
import { mayUseAll } from "../../base/principal.ts";
import { maskText } from "../../base/text/mask.ts";
import { NOTIFICATIONS_FILE, openNotifyStore } from "../../store/notify/notify-store.ts";
import type { DeliveryRow } from "../dashboard/api.ts";
import type { NoticeContent } from "./message.ts";

/** The last notifications, the newest first: for the dashboard, `trunkline notification list` and doctor. */
export async function deliveries(data: string, most = 100): Promise<DeliveryRow[]> {
  // Throws if the folder cannot be read, because that does not mean that there were no notifications.
  if (statSync(join(data, NOTIFICATIONS_FILE), { throwIfNoEntry: false }) === undefined) return [];
  using store = await openNotifyStore(data);
  const { queue } = store;
  const rows: DeliveryRow[] = [];
  for (const delivery of await queue.list(most)) {
    const { id, notice, receiver, state, result, due } = delivery;
    const { reason, sessionId: session } = notice.content as NoticeContent;
    const attempts = await queue.attempts(id);
    rows.push({
      id,
      reason,
      session,
      receiver,
      state,
      time: timeOf(notice.at),
      attempts: attempts.map((each) => ({ time: timeOf(each.at), result: each.result })),
      result: result === undefined ? undefined : maskText(result),
      next: state === "pending" ? timeOf(due) : undefined,
    });
  }
  return rows;
}

function timeOf(milliseconds: number): string {
  return new Date(milliseconds).toISOString();
}

/** Notifications that the dashboard shows. */
const MOST = 50;

/** Notifications and what became of them: a person who got none sees why. Others than the owner see none. */
export function notificationRoutes(data: string): readonly ApiRoute[] {
  return [
    route("GET /api/notifications", "nothing", async ({ principal }) => {
      return { deliveries: mayUseAll(principal) ? await deliveries(data, MOST) : [] };
    }),
  ];
}

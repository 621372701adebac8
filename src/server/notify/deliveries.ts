import { statSync } from "node:fs";
import { join } from "node:path";

import { type ApiRoute, route } from "../../base/capability/api-route.ts";
import { mayUseAll } from "../../base/principal.ts";
import { maskText } from "../../base/text/mask.ts";
import {
  type DeliveryState,
  NOTIFICATIONS_FILE,
  NotifyStore,
} from "../../store/notify/notify-store.ts";
import type { DeliveryRow } from "../dashboard/api.ts";
import type { Reason } from "./entries.ts";
import type { NoticeContent } from "./message.ts";

/** A notification to one receiver, and what became of it. */
export interface DeliveryView {
  readonly id: string;
  readonly reason: Reason;
  readonly session?: string | undefined;
  readonly receiver: string;
  /** "delivered": the receiver, or its push service, has accepted it. */
  readonly state: DeliveryState;
  readonly time: string;
  readonly attempts: readonly { readonly time: string; readonly result: string }[];
  /** The result of the last attempt, or why there was none. */
  readonly result?: string | undefined;
  /** When it is tried again. */
  readonly next?: string | undefined;
}

/** The last notifications, the newest first: for the dashboard, `trunkline notification list` and doctor. */
export async function deliveries(data: string, most = 100): Promise<DeliveryView[]> {
  // Throws where the folder may not be read: that is not to have had no notifications.
  const file = statSync(join(data, NOTIFICATIONS_FILE), { throwIfNoEntry: false });
  if (file === undefined) return [];
  using store = await NotifyStore.open(data);
  const { queue } = store;
  const views: DeliveryView[] = [];
  for (const delivery of await queue.list(most)) {
    const { id, notice, receiver, state, result, due } = delivery;
    const { reason, sessionId: session } = notice.content as NoticeContent;
    const attempts = await queue.attempts(id);
    views.push({
      id,
      reason,
      session,
      receiver,
      state,
      time: timeOf(notice.at),
      attempts: attempts.map((each) => ({ time: timeOf(each.at), result: each.result })),
      result,
      next: state === "pending" ? timeOf(due) : undefined,
    });
  }
  return views;
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

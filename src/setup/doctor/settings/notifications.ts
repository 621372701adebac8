import type { Config } from "../../../config/config.ts";
import { deliveries } from "../../../server/notify/deliveries.ts";
import { readEntries } from "../../../server/notify/entries.ts";
import { byCommand, type Finding } from "../finding.ts";

const what = "Notifications";
/** Milliseconds for which a failure is shown. */
const RECENT = 24 * 60 * 60_000;

/** Whether the configured notifications can work, and whether the last ones arrived. */
export async function checkNotifications(
  { data, notifications }: Pick<Config, "data" | "notifications">,
  now = Date.now(),
): Promise<Finding[]> {
  if (notifications.length === 0) return [];
  const { entries, problems } = readEntries(notifications);
  const findings = problems.map((says): Finding => {
    return { state: "fail", what, says, next: "Correct it in the configuration." };
  });
  const all = await deliveries(data);
  const recent = all.filter(({ time }) => Date.parse(time) > now - RECENT);
  const failing = new Map<string, string>();
  for (const { receiver, state, result = "", attempts } of recent.toReversed()) {
    const isFailing = state === "failed" || (state === "pending" && attempts.length > 0);
    if (isFailing) failing.set(receiver, result);
    // A later one that arrived shows that it works again.
    else if (state === "delivered") failing.delete(receiver);
  }
  for (const [receiver, result] of failing) {
    const says = `the last one to ${receiver} was not delivered: ${result}`;
    findings.push({ state: "warn", what, says, ...byCommand("trunkline notifications test") });
  }
  if (findings.length > 0) return findings;
  const names = entries.map(({ name }) => name).join(", ");
  return [{ state: "ok", what, says: `${names}: nothing has failed in the last day` }];
}

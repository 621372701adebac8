import { setTimeout as delay } from "node:timers/promises";

import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { userFile } from "../../config/locations.ts";
import type { DeliveryRow } from "../../server/dashboard/api.ts";
import { deliveries } from "../../server/notify/deliveries.ts";
import { readEntries } from "../../server/notify/entries.ts";
import { notifySecrets } from "../../server/notify/notify-secrets.ts";
import { openNotifier } from "../../server/notify/open-notifier.ts";
import type { Delivery } from "../../store/notify/notify-store.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { linesText, print, printList } from "../shell/layout.ts";
import { configFlags, openQuietApp } from "../shell/open-app.ts";

type SecretValues = OptionValues<never, "rotate">;

/** Milliseconds between two checks of whether the test was delivered. */
const LOOK_EVERY = 20;

/** `trunkline notification list` */
export async function list(invocation: Invocation): Promise<number> {
  const { config } = await openQuietApp(invocation);
  const found = await deliveries(config.data);
  const none = "There were no notifications yet. `trunkline notification test` sends one.";
  return printList(invocation, { deliveries: found }, [HEADINGS, ...found.map(rowOf)], none);
}

/** `trunkline notification test` */
export async function test(invocation: Invocation): Promise<number> {
  const { env } = invocation;
  const app = await openQuietApp(invocation);
  const { entries, problems } = readEntries(app.config.notifications);
  const [problem] = problems;
  if (problem !== undefined) throw new TrunklineError("config", problem);
  await using notifier = await openNotifier(app, env, configFileOf(invocation));
  if (notifier === undefined) {
    const next =
      "Add one to `notifications` of the configuration; docs/NOTIFICATIONS.md has examples";
    throw new TrunklineError("config", `Cannot notify anybody: nobody is configured. ${next}.`);
  }
  const id = await notifier.add({ reason: "test" });
  const patience = Math.max(...entries.map(({ timeout }) => timeout)) + 2_000;
  const until = performance.now() + patience;
  let found: Delivery[];
  do {
    await delay(LOOK_EVERY);
    found = await notifier.deliveriesOf(id);
  } while (found.some(isUntried) && performance.now() < until);
  const lines = found.map(({ receiver, state, result }) => {
    return `${visibleLine(receiver)}: ${state}${result ? `, ${visibleLine(result)}` : ""}`;
  });
  const code = found.every(({ state }) => state === "delivered") ? 0 : 1;
  return print(invocation, { deliveries: found.map(plain) }, linesText(lines), { code });
}

/** `trunkline notification secret` */
export async function secret(invocation: Invocation<SecretValues>): Promise<number> {
  const { values, env } = invocation;
  const { config } = await openQuietApp(invocation);
  const configFile = configFileOf(invocation);
  const secrets = notifySecrets({ data: config.data, configFile, env });
  const found = values.rotate === true ? await secrets.rotateWebhook() : await secrets.webhook();
  return print(invocation, { secret: found }, `${found}\n`);
}

/** The key of the encrypted file is beside the configuration, whatever process opens it. */
function configFileOf({ cwd, env, values }: Invocation): string {
  return userFile({ cwd, env, flags: configFlags(values) }).path;
}

function isUntried({ state, attempts }: Delivery): boolean {
  return state === "pending" && attempts === 0;
}

function plain({ id, receiver, state, attempts, result }: Delivery): object {
  return { id, receiver, state, attempts, result };
}

const HEADINGS = ["TIME", "REASON", "RECEIVER", "STATE", "ATTEMPTS", "SESSION", "RESULT"];

function rowOf(delivery: DeliveryRow): string[] {
  const { time, reason, receiver, state, attempts, session, result } = delivery;
  return [
    time.slice(0, 16).replace("T", " "),
    reason,
    visibleLine(receiver),
    state,
    String(attempts.length),
    (session ?? "").slice(0, 8),
    visibleLine(result ?? ""),
  ];
}

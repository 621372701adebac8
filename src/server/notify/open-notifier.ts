import type { AppContext } from "../../config/app-context.ts";
import { readEntries } from "./entries.ts";
import type { Notifier } from "./notifier.ts";
import { notifySecrets } from "./notify-secrets.ts";

/** Notifies people as the configuration says; undefined where it names nobody. */
export async function openNotifier(
  { config, log, reloading }: AppContext,
  env: NodeJS.ProcessEnv,
  configFile = reloading?.files[0],
): Promise<Notifier | undefined> {
  const { data, notifications, serve } = config;
  const { entries, problems } = readEntries(notifications);
  for (const problem of problems) log.error("notify.not-configured", { problem });
  if (entries.length === 0) return undefined;
  const { startNotifier } = await import("./notifier.ts");
  const secrets = notifySecrets({ data, configFile, env });
  return startNotifier({ data, entries, secrets, publicUrl: serve.publicUrl, log });
}

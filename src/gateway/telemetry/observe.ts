import type { House } from "../house.ts";
import { Observers } from "./observers.ts";

/** Has observed what the configuration wants to have observed. Before anything is opened. */
export async function observe(house: House): Promise<void> {
  const { config, report } = house;
  const observers = (house.observers ??= new Observers());
  if (config.log.requests === true) {
    const { RequestLog } = await import("./request-log.ts");
    observers.add(new RequestLog());
  }
  const settings = config.telemetry?.otlp;
  if (settings?.enabled !== true) return;
  const { openTelemetry } = await import("./open-telemetry.ts");
  observers.add(
    openTelemetry({
      settings,
      env: process.env,
      report,
      resolve: async (headers) => {
        const { resolveTexts } = await import("../../upstream/references.ts");
        const { serverReferences } = await import("../tool/server-references.ts");
        return resolveTexts("telemetry.otlp.headers", headers, serverReferences(house));
      },
    }),
  );
}

import type { AppContext } from "../config/app-context.ts";
import type { TelemetryOptions } from "../server/telemetry/open-telemetry.ts";
import { Observers } from "../server/telemetry/observers.ts";
import { serverReferences } from "../upstream/open/server-references.ts";
import { resolveTexts } from "../upstream/references.ts";

/** Adds the observers that the configuration asks for. Call it before anything is opened. */
export async function observe(app: AppContext): Promise<void> {
  const { config, report } = app;
  const observers = (app.observers ??= new Observers());
  if (config.log.requests) {
    const { requestLog } = await import("../server/telemetry/request-log.ts");
    observers.add(requestLog());
  }
  const settings = config.telemetry?.otlp;
  if (settings?.enabled !== true) return;
  const { openMetrics, openTelemetry } = await import("../server/telemetry/open-telemetry.ts");
  const options: TelemetryOptions = {
    settings,
    env: process.env,
    report,
    resolve: async (headers) => {
      return resolveTexts("telemetry.otlp.headers", headers, serverReferences(app));
    },
  };
  observers.add(openTelemetry(options));
  if (settings.metrics === true) observers.add(openMetrics(options));
}

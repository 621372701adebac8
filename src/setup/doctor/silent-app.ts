import type { Config } from "../../config/config.ts";
import { AppContext } from "../../gateway/app-context.ts";

/** The program of a check. It logs errors only: what goes wrong is a finding. */
export function silentApp(config: Config): AppContext {
  return new AppContext({ ...config, log: { level: "error", verbose: false, requests: false } });
}

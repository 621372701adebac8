import type { Config } from "../../gateway/config/config.ts";
import { House } from "../../gateway/house.ts";

/** The house of a check. It logs errors only: what goes wrong is a finding. */
export function silentHouse(config: Config): House {
  return new House({ ...config, log: { level: "error", verbose: false } });
}

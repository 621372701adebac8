import type { Config } from "../../config/config.ts";
import { House } from "../../config/house.ts";

/** The house of a check. It logs errors only: what goes wrong is a finding. */
export function silentHouse(config: Config): House {
  return new House({ ...config, log: { level: "error", verbose: false, requests: false } });
}

import { resolveServing, type ServePlan } from "../../src/server/access/serving.ts";
import { type Config, defaultConfig } from "../../src/config/config.ts";

/** How a gateway is served, for tests: as configured, on an address. */
export function sampleServing(
  host: string,
  serve: Partial<Config["serve"]> = {},
  options: { readonly noAuth?: boolean } = {},
): ServePlan {
  const defaults = defaultConfig("/data").serve;
  return resolveServing({ serve: { ...defaults, host, ...serve } }, options);
}

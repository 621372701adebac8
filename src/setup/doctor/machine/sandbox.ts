import type { Config } from "../../../config/config.ts";
import type { Finding } from "../finding.ts";

/** Whether commands of the built-in agent run in a sandbox, and plugins that have permissions. */
export async function checkSandbox(
  config: Pick<Config, "agent" | "bus" | "data">,
): Promise<Finding[]> {
  const { localInForce, pluginsInForce, tryOutSandbox } =
    await import("../../../sandbox/open/local-in-force.ts");
  // Both need the same of this machine.
  let tried: Promise<string | undefined> | undefined;
  const tryOut = (): Promise<string | undefined> => (tried ??= tryOutSandbox());
  const commands = { what: "Sandbox of commands", ...(await localInForce(config, tryOut)) };
  const isLimited = Object.values(config.bus.plugins).some((plugin) => {
    return "permissions" in plugin && plugin.enabled !== false;
  });
  if (!isLimited) return [commands];
  return [commands, { what: "Sandbox of plugins", ...(await pluginsInForce(config, tryOut)) }];
}

import type { Config } from "../../../gateway/config/config.ts";
import type { Finding } from "../finding.ts";

/** Whether commands of the built-in agent run in a sandbox, and plugins that have permissions. */
export async function checkSandbox(config: Pick<Config, "agent" | "bus">): Promise<Finding[]> {
  const { localInForce, pluginsInForce } =
    await import("../../../gateway/session/local-in-force.ts");
  const commands = { what: "Sandbox of commands", ...(await localInForce(config)) };
  const isLimited = Object.values(config.bus.plugins).some((plugin) => {
    return "permissions" in plugin && plugin.enabled !== false;
  });
  if (!isLimited) return [commands];
  return [commands, { what: "Sandbox of plugins", ...(await pluginsInForce(config)) }];
}

import type { Config } from "../../../gateway/config/config.ts";
import type { Finding } from "../finding.ts";

const what = "Sandbox of commands";

/** Whether commands of the built-in agent run in a sandbox. */
export async function checkSandbox(config: Pick<Config, "agent">): Promise<Finding> {
  const { localInForce } = await import("../../../gateway/session/local-in-force.ts");
  return { what, ...(await localInForce(config)) };
}

import type { Config } from "../../gateway/config/config.ts";
import type { Finding } from "./doctor.ts";

/** Which walls stand around commands of local sessions and around remote runs. */
export async function checkSandbox(
  config: Pick<Config, "agent" | "remote" | "data">,
): Promise<Finding[]> {
  const { localInForce, remoteInForce } = await import("../../gateway/runs/in-force.ts");
  try {
    return [await localInForce(config), ...(await remoteInForce(config))];
  } catch (error) {
    // Whatever keeps it from being tried keeps a sandbox from being made.
    const says = `cannot be tried: ${(error as Error).message}`;
    return [
      { state: "warn", what: "Sandbox", says, next: "Check the folder for temporary files." },
    ];
  }
}

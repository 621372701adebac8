import type { Log } from "../../base/log.ts";
import type { References } from "../../upstream/references.ts";

/** What the settings of MCP servers may refer to: variables, and secrets that the person has stored. */
export function serverReferences(log: Log): References {
  return {
    env: process.env,
    secret: async (name) => {
      const { keysInKeychain } = await import("../../agent/models/model-keys.ts");
      return (await keysInKeychain([name], { env: process.env, log })).get(name);
    },
  };
}

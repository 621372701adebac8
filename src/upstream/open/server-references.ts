import { storedKey } from "../../agent/models/models.ts";
import { TrunklineError } from "../../base/errors.ts";
import { isLoopback } from "../../base/private-address.ts";
import { openKeys } from "../../identity/open/open-secret-store.ts";
import type { References } from "../references.ts";
import type { AppContext } from "../../config/app-context.ts";

/**
 * What the settings of MCP servers may refer to: variables, secrets that the person has stored, and
 * tokens of identities.
 */
export function serverReferences(
  app: AppContext,
  env: NodeJS.ProcessEnv = process.env,
): References {
  return {
    env,
    secret: async (name) => {
      return storedKey(name, openKeys(app.config.data, env));
    },
    token: (name, address) => tokenFor(app, env, name, address),
  };
}

/** A token goes to the host of its identity and to that of its API, and nowhere else. */
async function tokenFor(
  app: AppContext,
  env: NodeJS.ProcessEnv,
  name: string,
  address: URL,
): Promise<string> {
  const { currentIdentities } = await import("../../identity/open/open-identities.ts");
  await using commands = await currentIdentities(app, app.config.data, env);
  const identity = commands.identities.find(name);
  const { host } = identity;
  const isSafe = address.protocol === "https:" || isLoopback(address);
  if (host === undefined || !isSafe || ![host, `api.${host}`].includes(address.host)) {
    const why = `its token is for ${host ?? "no host"}, and not for ${address.origin}`;
    throw new TrunklineError("untrusted", `Cannot use identity '${name}': ${why}`);
  }
  const found = await commands.tokens.find(identity);
  if (found !== undefined) return found.token;
  const next = `Set one with \`trunkline identity token set ${name}\``;
  throw new TrunklineError("untrusted", `Identity '${name}' has no token. ${next}`);
}

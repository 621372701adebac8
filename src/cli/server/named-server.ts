import { TrunklineError } from "../../base/errors.ts";
import { suggest } from "../../base/text/suggest.ts";
import type { Config } from "../../config/config.ts";

/** The settings of a configured server. `doing` is what cannot be done without it. */
export function namedServer(
  { mcpServers }: Pick<Config, "mcpServers">,
  name: string,
  doing: string,
): Config["mcpServers"][string] {
  const settings = Object.hasOwn(mcpServers, name) ? mcpServers[name] : undefined;
  if (settings !== undefined) return settings;
  const names = Object.keys(mcpServers);
  const [near] = suggest(name, names);
  const all = names.length === 0 ? "There are none." : `There are: ${names.join(", ")}.`;
  const next = near === undefined ? all : `Did you mean '${near}'?`;
  throw new TrunklineError(
    "not-found",
    `Cannot ${doing} server '${name}': no such server. ${next}`,
  );
}

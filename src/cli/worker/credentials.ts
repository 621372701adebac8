import { writeFileSync } from "node:fs";
import { resolve } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { NODE_NAME } from "../../fleet/capability.ts";
import { newUser } from "../../fleet/connection/new-user.ts";
import { fleetValues } from "../../config/fleet-flags.ts";
import type { Invocation } from "../shell/command.ts";
import { openQuietApp } from "../shell/open-app.ts";

interface CredentialsValues {
  readonly [name: string]: string | boolean | readonly string[] | undefined;
  readonly role: string;
  readonly pool?: string;
  readonly out: string;
  readonly json?: boolean;
}

/** The form of `fleet.name`. */
const NAME = new RegExp(NODE_NAME);
/** One user for all nodes of a role. */
const ANY = "*";

/** `trunkline worker credentials` */
export async function run(invocation: Invocation<CredentialsValues>): Promise<number> {
  const { values, positionals, out, cwd } = invocation;
  const [name = ""] = positionals;
  if (name !== ANY && !NAME.test(name)) {
    const form = "a name has 1 to 64 letters, digits, `-` and `_`";
    throw new TrunklineError("usage", `Cannot make credentials for '${name}': ${form}.`);
  }
  const app = await openQuietApp(invocation, { more: fleetValues({ pool: values.pool }) });
  const { pool } = app.config.fleet;
  const role = values.role === "gateway" ? "gateway" : "worker";
  const { seed, settings } = newUser({ pool, role, name });
  const file = resolve(cwd, values.out);
  try {
    // Not over another node's: that would lock it out.
    writeFileSync(file, `${seed}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new TrunklineError("usage", `Cannot write the credentials: ${why}.`, { cause: error });
  }
  if (values.json === true) {
    out(`${JSON.stringify({ name, pool, role, file, settings })}\n`);
    return 0;
  }
  const whose = name === ANY ? `all ${role}s` : name;
  out(
    `The secret of ${whose} is in ${file}: name it in \`fleet.credentials\` of the configuration.\n` +
      `Add this user to the account of the pool in the configuration of nats-server, and reload that:\n\n` +
      `# accounts { TL_${pool} { jetstream: enabled, users: [ … ] } }\n${settings}`,
  );
  return 0;
}

import { writeFileSync } from "node:fs";
import { resolve } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { newUser } from "../../fleet/connection/new-user.ts";
import { fleetValues } from "../../gateway/config/fleet-flags.ts";
import type { Invocation } from "../shell/command.ts";
import { quietHouse } from "../shell/open-house.ts";

interface CredentialsValues {
  readonly [name: string]: string | boolean | readonly string[] | undefined;
  readonly role: string;
  readonly pool?: string;
  readonly out: string;
  readonly json?: boolean;
}

/** `trunkline worker credentials` */
export async function run(invocation: Invocation<CredentialsValues>): Promise<number> {
  const { values, positionals, out, cwd } = invocation;
  const [name = ""] = positionals;
  const house = await quietHouse(invocation, { more: fleetValues({ pool: values.pool, name }) });
  const { pool } = house.config.fleet;
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
  out(
    `The secret of ${name} is in ${file}: name it in \`fleet.credentials\` of its configuration.\n`,
  );
  out(`Add this to the configuration of nats-server, one user for each node:\n\n${settings}`);
  return 0;
}

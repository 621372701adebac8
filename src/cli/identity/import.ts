import { readFileSync } from "node:fs";
import { resolve } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { whyUnreadable } from "../../base/file/why-unreadable.ts";
import type { Invocation } from "../shell/command.ts";
import { openIdentities } from "./open-identities.ts";
import { toJson } from "./identity.ts";

/** `trunkline identity import FILE` */
export async function importFile(
  invocation: Invocation<{
    readonly json?: boolean;
    readonly force?: boolean;
    readonly "dry-run"?: boolean;
  }>,
): Promise<number> {
  const { values, positionals, cwd, out, err } = invocation;
  const file = resolve(cwd, positionals[0] ?? "");
  const identities = await openIdentities(invocation);
  const read = identities.readJuggler(readText(file), file);
  const names = Object.keys(read.identities);
  const known = names.filter((name) => identities.list.some((each) => each.name === name));
  if (known.length > 0 && values.force !== true) {
    const says = `these identities exist already: ${known.join(", ")}`;
    throw new TrunklineError(
      "usage",
      `Cannot import '${file}': ${says}. Replace them with --force`,
    );
  }
  if (values["dry-run"] !== true) await identities.importAll(read);
  if (values.json) {
    const { secrets } = read;
    out(toJson({ imported: names, secrets, dryRun: values["dry-run"] === true }));
    return 0;
  }
  const done = values["dry-run"] ? "Would import" : "Imported";
  out(`${done} ${names.length === 0 ? "no identities" : names.join(", ")}.\n`);
  for (const secret of read.secrets) {
    err(`Did not import '${secret}': a configuration file must not contain secrets.\n`);
  }
  return 0;
}

/** `trunkline identity export` */
export async function exportFile(
  invocation: Invocation<{ readonly json?: boolean }>,
): Promise<number> {
  invocation.out(toJson((await openIdentities(invocation)).exportJuggler()));
  return 0;
}

function readText(file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const says = `Cannot read '${file}': ${whyUnreadable(error)}`;
    throw new TrunklineError("not-found", says, { cause: error });
  }
}

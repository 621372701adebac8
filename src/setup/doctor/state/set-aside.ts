import { existsSync } from "node:fs";
import { rename } from "node:fs/promises";
import { basename, join } from "node:path";

import { TrunklineError } from "../../../base/errors.ts";
import { Holder, HOLDERS } from "../../../store/holder.ts";
import { runningGateways } from "../../../store/access/running-gateways.ts";
import type { Fix } from "../finding.ts";

/** What SQLite keeps beside a database, and what belongs to it. */
const COMPANIONS = ["-wal", "-shm"];

/** Renames damaged files, so that the next program that needs them starts new ones. */
export function setAside(data: string, ...paths: readonly [string, ...string[]]): Fix {
  const ending = damagedEnding();
  const [first, ...others] = paths;
  const more = others.length === 0 ? "" : `, and ${others.length} more files alike`;
  return {
    does: `Rename ${first} to ${basename(first)}${ending}${more}`,
    asks: true,
    apply: async () => {
      await mustBeAlone(data);
      const all = paths.flatMap((path) => [path, ...COMPANIONS.map((end) => path + end)]);
      for (const path of all.filter((each) => existsSync(each))) {
        await rename(path, `${path}${ending}`);
      }
    },
  };
}

/** What is added to the name of a file that was put aside. No file on Windows has a colon in its name. */
export function damagedEnding(): string {
  return `.damaged-${new Date().toISOString().replaceAll(/[-:]|\.\d+/g, "")}`;
}

/** A program that has the file open would go on with the file that was renamed. */
async function mustBeAlone(data: string): Promise<void> {
  const gateways = await runningGateways(data);
  using holder = Holder.at(join(data, HOLDERS));
  const others = holder.others().map((id) => id.split("-", 1)[0]);
  if (others.length === 0 && gateways.length === 0) return;
  const names = [...gateways.map(({ url }) => `the gateway on ${url}`), ...others];
  const why = `other programs use the data folder: ${names.join(", ")}`;
  throw new TrunklineError("conflict", `${why}. Stop them, and try again`);
}

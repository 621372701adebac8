import { existsSync, statSync } from "node:fs";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";

import { leftGateways, runningGateways } from "../../../store/access/running-gateways.ts";
import { Holder, HOLDERS } from "../../../store/holder.ts";
import { byFix, type Finding } from "../finding.ts";

const what = "Leftovers";

/** A file that was being written when the program was killed: its name, and a UUID. */
const HALF_WRITTEN = /\.[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/;
/** Milliseconds after which nobody is still writing it. */
const ABANDONED = 60 * 60_000;

/** Lock files, sockets and half-written files of programs that were killed. They do no harm. */
export async function checkLeftovers(data: string): Promise<Finding[]> {
  if (!existsSync(data)) return [];
  const names = await leftNames(data);
  if (names.length === 0) return [];
  const count = names.length === 1 ? "one file" : `${names.length} files`;
  const says = `${count} of programs that were killed, such as ${names[0]}`;
  const fix = { does: `Delete ${count} of programs that were killed`, apply: () => clean(data) };
  return [{ state: "ok", what, says, ...byFix(fix) }];
}

async function leftNames(data: string): Promise<string[]> {
  using holder = Holder.at(join(data, HOLDERS));
  return [
    ...holder.leftovers().map((name) => join(data, HOLDERS, name)),
    ...leftGateways(data).map((path) => `${path}.json`),
    ...(await halfWritten(data)),
  ];
}

async function clean(data: string): Promise<void> {
  {
    using holder = Holder.at(join(data, HOLDERS));
    holder.clean();
  }
  await runningGateways(data);
  for (const path of await halfWritten(data)) await rm(path, { force: true });
}

async function halfWritten(data: string): Promise<string[]> {
  const found: string[] = [];
  for (const folder of [data, join(data, "identity")]) {
    for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
      if (!entry.isFile() || !HALF_WRITTEN.test(entry.name)) continue;
      const path = join(folder, entry.name);
      const { mtimeMs = Infinity } = statSync(path, { throwIfNoEntry: false }) ?? {};
      if (mtimeMs < Date.now() - ABANDONED) found.push(path);
    }
  }
  return found;
}

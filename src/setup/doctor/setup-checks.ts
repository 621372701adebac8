import { existsSync } from "node:fs";
import { isAbsolute } from "node:path";

import { shellWord } from "../../base/text/shell-word.ts";
import { valueAt } from "../../config/layer.ts";
import { readProgramFile } from "../change.ts";
import { isMap } from "../format/format.ts";
import { type Places, placesOf, type Target, TARGETS } from "../targets.ts";
import { byCommand, type CheckResult, fail, ok, warn } from "./check.ts";

/** Whether the programs that were set up to start Trunkline would find it. */
export function checkSetups(env: NodeJS.ProcessEnv): CheckResult[] {
  const places = placesOf(env);
  const found = TARGETS.flatMap((target) => examine(target, places));
  const working = found.filter(({ state }) => state === "ok").map(({ says }) => says);
  const broken = found.filter(({ state }) => state !== "ok");
  return working.length === 0 ? broken : [ok(working.join(", ")), ...broken];
}

function examine(target: Target, places: Places): CheckResult[] {
  const path = target.file(places);
  let entries: unknown[];
  try {
    const { text } = readProgramFile(path);
    if (text === undefined) return [];
    const settings = target.format.read(text);
    entries = target.entries.map((entry) => valueAt(settings, entry.path));
  } catch (error) {
    const says = `cannot read the settings of ${target.label} in '${path}'`;
    return [warn(`${says}: ${(error as Error).message}`, "Repair the file.")];
  }
  const starts = entries.filter(isMap).map(startOf);
  const dead = starts.flat().find((each) => !existsSync(each));
  if (starts.length === 0) return [];
  if (dead === undefined) return [ok(target.label)];
  const command = `trunkline setup ${shellWord(target.name)}`;
  return [fail(`${target.label} starts '${dead}', which is not there`, byCommand(command))];
}

/** The files that an entry starts: a Node and our program, or our program alone. */
function startOf({ command, cmd, args }: Readonly<Record<string, unknown>>): string[] {
  const words = [command ?? cmd, args].flat();
  const end = words.findIndex((word) => typeof word !== "string" || !isAbsolute(word));
  return words.slice(0, end < 0 ? undefined : end) as string[];
}

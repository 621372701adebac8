import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { processesWhere } from "../processes.ts";

/** Mounts at or below a folder. */
export function mountsBelow(folder: string): string[] {
  return readFileSync("/proc/self/mounts", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[1] ?? "")
    .filter((at) => at.startsWith(folder));
}

/**
 * What is left of runs in a server's folder after all their sessions were deleted and the server has
 * ended. Only caches and bases may stay. `root` is the folder above everything that belongs to the runs.
 */
function leftOfRuns(root: string, folder: string): string[] {
  const inside = (name: string, ...filter: string[]): string[] => {
    const path = join(folder, name);
    if (!existsSync(path)) return [];
    const args = [path, "-mindepth", "1", ...filter, "-print"];
    return execFileSync("find", args, { encoding: "utf8" }).split("\n").filter(Boolean);
  };
  const locks = ["(", "-name", "*.lock", "-o", "-name", "tmp_*", ")"];
  return [
    ...processesWhere(({ environment, command, cwd }) =>
      [cwd, command, ...environment].some((text) => text.includes(root)),
    )
      .filter(({ command }) => !command.includes("sshd"))
      .map(({ pid, command }) => `process ${pid}: ${command.slice(0, 200)}`),
    ...mountsBelow(root).map((at) => `mount ${at}`),
    ...inside("work", "-maxdepth", "1").map((path) => `workspace ${path}`),
    ...inside("sandbox", "-maxdepth", "1").map((path) => `sandbox ${path}`),
    ...inside("bases", "-maxdepth", "2", "-name", "*.unfinished-*").map(
      (path) => `unfinished ${path}`,
    ),
    ...inside("cache", "-maxdepth", "2", "-name", "*.unfinished-*").map(
      (path) => `unfinished ${path}`,
    ),
    ...inside("cache", ...locks).map((path) => `left by git: ${path}`),
    ...inside("cache", "-path", "*/refs/trunkline/live/*", "-type", "f").map(
      (path) => `kept for nobody: ${path}`,
    ),
  ];
}

/** Seconds that watchdogs of ended servers may take: they look through all processes of the machine. */
const WATCHDOGS = 60;

/** As `leftOfRuns`, once the watchdogs of all servers have ended. */
export async function leftInTheEnd(root: string, folder: string): Promise<string[]> {
  const giveUp = performance.now() + WATCHDOGS * 1_000;
  for (;;) {
    const left = leftOfRuns(root, folder);
    if (left.length === 0 || performance.now() > giveUp) return left;
    await delay(50);
  }
}

/** Control groups with matching names. */
export function controlGroups(names: readonly string[]): string[] {
  const found = execFileSync(
    "find",
    ["/sys/fs/cgroup", "-type", "d", "-name", "trunkline-*", "-print"],
    { encoding: "utf8" },
  );
  return found.split("\n").filter((path) => names.some((name) => path.includes(name)));
}

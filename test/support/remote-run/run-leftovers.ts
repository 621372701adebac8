import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";

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
export function leftOfRuns(root: string, folder: string): string[] {
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

/** Control groups with matching names. */
export function controlGroups(names: readonly string[]): string[] {
  const found = execFileSync(
    "find",
    ["/sys/fs/cgroup", "-type", "d", "-name", "trunkline-*", "-print"],
    { encoding: "utf8" },
  );
  return found.split("\n").filter((path) => names.some((name) => path.includes(name)));
}

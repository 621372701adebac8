import { existsSync } from "node:fs";
import { mkdir, readFile, rmdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { attempt } from "../base/attempt.ts";

export interface GroupLimits {
  /** The most bytes of memory that all processes may use together. */
  readonly memory?: number | undefined;
  readonly processes?: number | undefined;
  /** Number of processors that they may use, such as 1.5. */
  readonly cpus?: number | undefined;
}

const ROOT = "/sys/fs/cgroup";
const PERIOD = 100_000;

/** A control file of the kernel, and the value to write to it. */
type Setting = readonly [file: string, value: string];

/** Control groups, of version 1 or 2, that limit the resources of a sandbox. */
export class ControlGroup implements AsyncDisposable {
  /** The folders that a process joins by writing its id to `cgroup.procs`. */
  readonly folders: readonly string[];

  private constructor(folders: readonly string[]) {
    this.folders = folders;
  }

  /** The groups that a killed process has left. */
  static async left(name: string): Promise<ControlGroup> {
    const plan = await planOf(name, { memory: 0, processes: 0, cpus: 0 });
    return new ControlGroup(
      plan.map(({ folder }) => folder).filter((folder) => existsSync(folder)),
    );
  }

  /** Undefined if we may not create any on this machine. */
  static async create(name: string, limits: GroupLimits): Promise<ControlGroup | undefined> {
    const plan = await planOf(name, limits);
    const made: string[] = [];
    try {
      for (const { folder, settings, kinds = [] } of plan) {
        // Files of a kind are there only where the group above has it on (cgroup-v2.rst, "Enabling and
        // Disabling"). systemd leaves that to whoever a group was handed to (`Delegate=`).
        for (const kind of kinds) {
          await writeFile(join(folder, "../cgroup.subtree_control"), `+${kind}`).catch(() => {});
        }
        await mkdir(folder, { recursive: true });
        made.push(folder);
        for (const [file, value] of settings) await writeFile(join(folder, file), value);
      }
    } catch {
      // The only reason is a missing permission, which the probe reports.
      await new ControlGroup(made)[Symbol.asyncDispose]();
      return undefined;
    }
    return made.length === 0 ? undefined : new ControlGroup(made);
  }

  /** Kills the remaining processes in it, and removes it. */
  async [Symbol.asyncDispose](): Promise<void> {
    for (const folder of this.folders) {
      for (let attempt = 0; attempt < 50; attempt++) {
        await killAll(folder);
        try {
          await rmdir(folder);
          break;
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code === "ENOENT") break;
        }
        // The kernel needs a moment to remove killed processes.
        await delay(10);
      }
    }
  }
}

async function killAll(folder: string): Promise<void> {
  const listed = await readFile(join(folder, "cgroup.procs"), "utf8").catch(() => "");
  for (const pid of listed.split("\n").filter(Boolean)) {
    // It is already removed.
    attempt(() => process.kill(Number(pid), "SIGKILL"));
  }
}

function planOf(name: string, limits: GroupLimits): Promise<PlannedGroup[]> | PlannedGroup[] {
  const isUnified = existsSync(join(ROOT, "cgroup.controllers"));
  return isUnified ? unified(name, limits) : separate(name, limits);
}

interface PlannedGroup {
  readonly folder: string;
  /** The controllers that the parent group must have enabled. */
  readonly kinds?: readonly string[];
  readonly settings: readonly Setting[];
}

/** Version 2: one folder beside our own group, if that was delegated to us. */
async function unified(name: string, limits: GroupLimits): Promise<PlannedGroup[]> {
  const path = /^0::(.*)$/m.exec(await readFile("/proc/self/cgroup", "utf8"))?.[1] ?? "/";
  const { memory, processes, cpus } = limits;
  const settings: Setting[] = [];
  if (memory !== undefined) settings.push(["memory.max", String(memory)], ["memory.swap.max", "0"]);
  if (processes !== undefined) settings.push(["pids.max", String(processes)]);
  if (cpus !== undefined) settings.push(["cpu.max", `${Math.round(cpus * PERIOD)} ${PERIOD}`]);
  const folder = join(ROOT, path, "..", `trunkline-${name}`);
  return [{ folder, settings, kinds: ["memory", "pids", "cpu"] }];
}

/** Version 1: one folder for each controller. */
function separate(name: string, limits: GroupLimits): PlannedGroup[] {
  const { memory, processes, cpus } = limits;
  const planned: PlannedGroup[] = [];
  const add = (kind: string, ...settings: Setting[]): void => {
    if (!existsSync(join(ROOT, kind))) return;
    planned.push({ folder: join(ROOT, kind, `trunkline-${name}`), settings });
  };
  if (memory !== undefined) add("memory", ["memory.limit_in_bytes", String(memory)]);
  if (processes !== undefined) add("pids", ["pids.max", String(processes)]);
  if (cpus !== undefined) {
    const quota = String(Math.round(cpus * PERIOD));
    add("cpu", ["cpu.cfs_period_us", String(PERIOD)], ["cpu.cfs_quota_us", quota]);
  }
  return planned;
}

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { canReflink } from "../../run/workspace/copy.ts";
import { canOverlay } from "../../run/workspace/overlay.ts";
import { CommandSandbox } from "../../sandbox/command-sandbox.ts";
import { EgressProxy } from "../../sandbox/egress-proxy.ts";
import { probeSandbox, type SandboxFinding } from "../../sandbox/probe.ts";
import { installing, type Machine, remedyFor, thisMachine } from "../../sandbox/remedy.ts";
import { systemProgram } from "../../sandbox/system-program.ts";
import type { Config } from "../config/config.ts";
import { sandboxPrograms } from "../session/local-sandbox.ts";

/** What keeps agents or commands apart from the machine, or a part of that. */
export interface InForce {
  readonly what: string;
  /** "fail": what needs it does not run. "warn": it runs without it. */
  readonly state: "ok" | "warn" | "fail";
  readonly says: string;
  /** The command or the setting that mends it. */
  readonly next?: string;
}

/** What is in force for commands of local sessions, tried out. */
export async function localInForce(
  { agent }: Pick<Config, "agent">,
  tryOut: () => Promise<string | undefined> = problemOfCommands,
): Promise<InForce> {
  const what = "Sandbox of commands";
  if (agent.sandbox === "off") {
    const says = "off: commands can do all that you can, and read keys of models from /proc";
    return { what, state: "warn", says, next: "Set `agent.sandbox` to `auto`." };
  }
  const problem = await tryOut();
  if (problem === undefined) {
    const says = "in force: own processes and network, secrets hidden, seccomp";
    return { what, state: "ok", says: `${says} (\`agent.sandbox\` is \`${agent.sandbox}\`)` };
  }
  const without =
    agent.sandbox === "on"
      ? "commands do not run"
      : "commands run without one, and can read keys of models from /proc";
  const state = agent.sandbox === "on" ? "fail" : "warn";
  const next = remedyFor(problem, thisMachine());
  return { what, state, says: `none, so ${without}: ${problem}`, next };
}

async function problemOfCommands(): Promise<string | undefined> {
  const data = await mkdtemp(join(tmpdir(), "trunkline-doctor-"));
  try {
    using egress = new EgressProxy({ allowHosts: [], setting: "" });
    const files = { write: [], keep: [], hide: [], show: [] };
    const options = { ...sandboxPrograms(), data, egress, files: () => files };
    await using _ = await CommandSandbox.open(options);
    return undefined;
  } catch (error) {
    return (error as Error).message;
  } finally {
    await rm(data, { recursive: true, force: true });
  }
}

/** What is in force for remote runs, each part tried out. */
export async function remoteInForce(
  { remote, data }: Pick<Config, "remote" | "data">,
  machine: Machine = thisMachine(),
): Promise<InForce[]> {
  const folder = await mkdtemp(join(tmpdir(), "trunkline-doctor-"));
  try {
    const { findings } = await probeSandbox(folder);
    const parts = findings.map((finding) => partInForce(finding, remote.sandbox, machine));
    return [...off(remote.sandbox), ...parts, await driver(data), ssh(machine)];
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function off(wanted: "on" | "unsafe-off"): InForce[] {
  if (wanted === "on") return [];
  const says = "without a sandbox: agents can do all that you can";
  return [{ what: "Remote runs", state: "warn", says, next: "Set `remote.sandbox` to `on`." }];
}

function partInForce(
  { part, isInForce, detail }: SandboxFinding,
  wanted: "on" | "unsafe-off",
  machine: Machine,
): InForce {
  const what = `Remote runs, ${part}`;
  if (isInForce && part === "cgroup") {
    return { what, state: "ok", says: "memory, processes and processors of each run are bounded" };
  }
  if (isInForce || part === "users") return { what, state: "ok", says: detail };
  if (part === "bubblewrap") {
    const without = wanted === "on" ? "they are refused" : "agents can do all that you can";
    const next = remedyFor(detail, machine);
    return { what, state: "warn", says: `no sandbox, so ${without}: ${detail}`, next };
  }
  return { what, state: "warn", says: detail, next: REMEDIES[part] };
}

const REMEDIES = {
  seccomp: "Run it on a processor of the kinds x64 or arm64.",
  landlock:
    "Start a kernel of 5.13 or later with `landlock` in its parameter `lsm=`; the sandbox holds " +
    "without it, with one wall less.",
  cgroup: "Run: systemd-run --user --scope -p Delegate=yes trunkline serve",
} as const;

/** How workspaces are made in the data folder, or where that will be. */
async function driver(data: string): Promise<InForce> {
  const what = "Remote runs, workspaces";
  if (canOverlay(data)) {
    return { what, state: "ok", says: "overlayfs: made in milliseconds, with almost no room" };
  }
  let folder = data;
  while (!existsSync(folder)) folder = dirname(folder);
  if (await canReflink(folder)) {
    return { what, state: "ok", says: "reflinks: copies that share their blocks" };
  }
  const says = "copied file by file, which takes time and room";
  const next = "Put the data folder onto btrfs or XFS (--data), or run `trunkline serve` as root.";
  return { what, state: "warn", says, next };
}

function ssh(machine: Machine): InForce {
  const what = "Remote runs, SSH";
  const program = systemProgram("ssh");
  if (program !== undefined) return { what, state: "ok", says: program };
  const says = "there is no ssh, so only repositories by HTTPS can be worked on";
  return { what, state: "warn", says, next: installing("openssh-client", machine) };
}

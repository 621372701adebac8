import { existsSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { canReflink, CopyDriver } from "../workspace/copy.ts";
import type { WorkspaceDriver } from "../workspace/driver.ts";
import { openOverlay } from "../workspace/overlay.ts";
import {
  PROBE_USER,
  probeSandbox,
  type SandboxFinding,
  type SandboxParts,
} from "../../sandbox/probe.ts";
import { type MachineFacts, remedyFor, systemProgram, thisMachine } from "../../sandbox/remedy.ts";

/** What this machine offers to remote runs. */
export interface RunsExamined {
  readonly sandbox: readonly ExaminedPart[];
  /** Undefined if repositories cannot be reached by SSH. */
  readonly ssh: string | undefined;
  readonly driver: WorkspaceDriver["name"];
}

/** A part of the sandbox, and what to do if it is missing. */
export type ExaminedPart = SandboxFinding & { readonly next: string };

/** Tests it in the data folder, if there is one, and leaves nothing there. */
export async function examineRuns(
  data: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<RunsExamined> {
  await using folder = await mkdtempDisposable(join(existsSync(data) ? data : tmpdir(), "doctor-"));
  const { parts, findings } = await probeSandbox(folder.path, env);
  await using driver = await openDriver(folder.path, parts);
  const machine = thisMachine();
  const sandbox = findings.map((finding) => ({ ...finding, next: nextFor(finding, machine) }));
  return { sandbox, ssh: systemProgram("ssh"), driver: driver.name };
}

/** The parts of the sandbox of runs; undefined if a person wants none. Throws if there can be none. */
export async function sandboxFor(
  folder: string,
  wanted: "on" | "unsafe-off",
): Promise<SandboxParts | undefined> {
  if (wanted === "unsafe-off") return undefined;
  const { parts, findings } = await probeSandbox(folder);
  if (parts !== undefined) return parts;
  const why = findings.find(({ isInForce }) => !isInForce)?.detail ?? "the reason is unknown";
  const next = `${remedyFor(why, thisMachine())} To run agents without a sandbox, use \`--unsafe-no-sandbox\``;
  throw new TrunklineError("unavailable", `Cannot run agents in a sandbox: ${why}. ${next}.`);
}

/** Overlay mounts, reflinks or copies: the first that works in a folder. */
export async function openDriver(
  folder: string,
  parts: SandboxParts | undefined,
): Promise<WorkspaceDriver & AsyncDisposable> {
  const owner = parts?.users === true ? PROBE_USER : undefined;
  const overlay = await openOverlay(folder, owner);
  return overlay ?? new CopyDriver((await canReflink(folder)) ? "reflink" : "copy");
}

const NEXT = {
  seccomp: "Run it on an x64 or arm64 processor.",
  landlock: "Start a kernel of 5.13 or later with `landlock` in its parameter `lsm=`.",
  cgroup:
    "Run: systemd-run --user --scope -p Delegate=yes trunkline serve. In a container, limit that.",
  users:
    "Run `trunkline serve` as root with CAP_SYS_ADMIN, on a machine that does nothing else; " +
    "or one server for each group of people who may see each other's work.",
} as const;

function nextFor({ part, detail }: SandboxFinding, machine: MachineFacts): string {
  return part === "bubblewrap" ? remedyFor(detail, machine) : NEXT[part];
}

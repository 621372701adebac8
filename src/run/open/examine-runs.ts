import { existsSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { canReflink } from "../workspace/copy.ts";
import { canOverlay } from "../workspace/overlay.ts";
import { probeSandbox, type SandboxFinding } from "../../sandbox/probe.ts";
import { type Machine, remedyFor, systemProgram, thisMachine } from "../../sandbox/remedy.ts";

/** What this machine offers to remote runs. */
export interface RunsExamined {
  readonly sandbox: readonly ExaminedPart[];
  /** Undefined if repositories cannot be reached by SSH. */
  readonly ssh: string | undefined;
  readonly driver: "overlay" | "reflink" | "copy";
}

/** A part of the sandbox, and what to do if it is missing. */
export type ExaminedPart = SandboxFinding & { readonly next: string };

/** Tests it in the data folder, if there is one, and leaves nothing there. */
export async function examineRuns(
  data: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<RunsExamined> {
  await using folder = await mkdtempDisposable(join(existsSync(data) ? data : tmpdir(), "doctor-"));
  const { findings } = await probeSandbox(folder.path, env);
  const copying = async () => ((await canReflink(folder.path)) ? "reflink" : "copy");
  const machine = thisMachine();
  const sandbox = findings.map((finding) => ({ ...finding, next: nextFor(finding, machine) }));
  const ssh = systemProgram("ssh");
  return { sandbox, ssh, driver: canOverlay(data) ? "overlay" : await copying() };
}

const NEXT = {
  seccomp: "Run it on an x64 or arm64 processor.",
  landlock: "Start a kernel of 5.13 or later with `landlock` in its parameter `lsm=`.",
  cgroup: "Run: systemd-run --user --scope -p Delegate=yes trunkline serve",
  users: "Run `trunkline serve` as root, on a machine or in a container of its own.",
} as const;

function nextFor({ part, detail }: SandboxFinding, machine: Machine): string {
  return part === "bubblewrap" ? remedyFor(detail, machine) : NEXT[part];
}

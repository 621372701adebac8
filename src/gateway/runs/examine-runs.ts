import { existsSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { canReflink } from "../../run/workspace/copy.ts";
import { canOverlay } from "../../run/workspace/overlay.ts";
import { probeSandbox, type SandboxFinding } from "../../sandbox/probe.ts";

/** What remote runs can have on this machine. */
export interface RunsExamined {
  readonly sandbox: readonly SandboxFinding[];
  readonly driver: "overlay" | "reflink" | "copy";
}

/** Tries it out in the data folder, where there is one, and leaves nothing there. */
export async function examineRuns(
  data: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<RunsExamined> {
  await using folder = await mkdtempDisposable(join(existsSync(data) ? data : tmpdir(), "doctor-"));
  const { findings } = await probeSandbox(folder.path, env);
  const copying = async () => ((await canReflink(folder.path)) ? "reflink" : "copy");
  return { sandbox: findings, driver: canOverlay(data) ? "overlay" : await copying() };
}

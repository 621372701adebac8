import { examineRuns, type RunsExamined } from "../../gateway/runs/examine-runs.ts";
import type { Config } from "../../gateway/config/config.ts";
import type { Finding } from "./doctor.ts";

const what = "Remote runs";

const DRIVERS: Readonly<Record<RunsExamined["driver"], string>> = {
  overlay: "workspaces are overlay mounts, made in milliseconds",
  reflink: "workspaces are copies that share their blocks",
  copy: "workspaces are whole copies: overlay mounts need root, shared blocks XFS or Btrfs",
};

/** What of the sandbox is in force here, and how workspaces are made. */
export async function checkRuns(
  { data, remote }: Pick<Config, "data" | "remote">,
  env: NodeJS.ProcessEnv,
): Promise<Finding[]> {
  const { sandbox, driver } = await examineRuns(data, env);
  const isNone = !sandbox.some(({ isInForce }) => isInForce);
  const findings = sandbox.map(({ part, isInForce, detail }): Finding => {
    const says = `${part}: ${detail}`;
    if (isInForce) return { state: "ok", what, says };
    const next = isNone ? "No run begins without it. See docs/HOSTING.md." : "See docs/HOSTING.md.";
    return { state: "warn", what, says, next };
  });
  if (remote.sandbox === "unsafe-off") {
    const says = "agents work without a sandbox: `remote.sandbox` is `unsafe-off`";
    return [{ state: "warn", what, says }, ...findings];
  }
  return isNone ? findings : [...findings, { state: "ok", what, says: DRIVERS[driver] }];
}

import { examineRuns, type RunsExamined } from "../../../run/open/examine-runs.ts";
import type { Config } from "../../../config/config.ts";
import type { Finding } from "../finding.ts";

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
  const { sandbox, driver, ssh } = await examineRuns(data, env);
  const isNone = !sandbox.some(({ isInForce }) => isInForce);
  const findings = sandbox.map(({ part, isInForce, detail, next }): Finding => {
    const says = `${part}: ${detail}`;
    if (isInForce) return { state: "ok", what, says };
    const why = isNone ? "No run begins without it (docs/HOSTING.md). " : "";
    return { state: "warn", what, says, next: `${why}${next}` };
  });
  if (remote.sandbox === "unsafe-off") {
    const says = "agents work without a sandbox: `remote.sandbox` is `unsafe-off`";
    const next = "Set `remote.sandbox` to `on`.";
    return [{ state: "warn", what, says, next }, ...findings];
  }
  if (isNone) return findings;
  const noSsh = "there is no ssh, so repositories are reached by HTTPS only";
  const reach: Finding =
    ssh === undefined
      ? { state: "warn", what, says: noSsh, next: "Install OpenSSH's client." }
      : { state: "ok", what, says: `repositories are reached by SSH with ${ssh}` };
  return [...findings, { state: "ok", what, says: DRIVERS[driver] }, reach];
}

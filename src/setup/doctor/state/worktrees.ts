import { existsSync } from "node:fs";
import { join } from "node:path";

import { Log } from "../../../base/log.ts";
import type { Config } from "../../../config/config.ts";
import { SessionWorktrees } from "../../../session/open/session-worktrees.ts";
import { SessionLog } from "../../../store/session/session-log.ts";
import { byFix, type Finding } from "../finding.ts";

const what = "Work trees";

/** Work trees that sessions of killed processes have left. The next start puts them away, too. */
export async function checkWorktrees(config: Config, env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const { data } = config;
  if (!existsSync(join(data, "worktrees"))) return [];
  const worktrees = new SessionWorktrees(config, env);
  await using stored = await SessionLog.open(data);
  const strays = await worktrees.strays(stored);
  const [first] = strays;
  if (first === undefined) return [];
  const count = strays.length === 1 ? "one work tree" : `${strays.length} work trees`;
  const says = `${count} of sessions that are gone, such as ${join(data, "worktrees", first)}`;
  const fix = {
    does: `Remove ${count}, and keep the work in them on branches`,
    apply: async () => {
      await using log = await SessionLog.open(data);
      await worktrees.sweep(log, new Log("error"));
      const left = await worktrees.strays(log);
      if (left.length > 0)
        throw new Error(`${left.length} could not be removed: ${left.join(", ")}`);
    },
  };
  return [{ state: "warn", what, says, ...byFix(fix) }];
}

import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname } from "node:path";

import { sshConfigFile } from "../detect/ssh-options.ts";

/** ssh finds its files by the account, whatever `HOME` says: where they differ it must be told. */
export function sshConfigArguments(env: NodeJS.ProcessEnv): string[] {
  const file = sshConfigFile(env);
  if (dirname(dirname(file)) === userInfo().homedir) return [];
  return ["-F", existsSync(file) ? file : "none"];
}

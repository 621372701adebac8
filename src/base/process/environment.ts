import { isAbsolute } from "node:path";

import { TrunklineError } from "../errors.ts";

/**
 * The home folder of whoever an environment belongs to. One that is not absolute counts as none:
 * what is in the current folder may be anybody's.
 */
export function homeOf({ HOME }: NodeJS.ProcessEnv): string {
  if (HOME !== undefined && isAbsolute(HOME)) return HOME;
  try {
    // Hardly ever needed, and every start waits for what is imported.
    return process.getBuiltinModule("node:os").userInfo().homedir;
  } catch (error) {
    const why = `HOME is ${HOME ? `'${HOME}', which is not absolute` : "not set"}`;
    const message = `Cannot tell where your home folder is: ${why}. Set it.`;
    throw new TrunklineError("config", message, { cause: error });
  }
}

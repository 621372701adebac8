import { Git } from "../../git/git.ts";
import type { Finding } from "./finding.ts";

/** The first with `safe.bareRepository`. */
const LEAST = [2, 38] as const;

/** Identities, reviews and much of the agent are nothing without it. */
export async function checkGit(folder: string, env: NodeJS.ProcessEnv): Promise<Finding> {
  try {
    const { stdout } = await new Git(folder, { env }).run(["version"]);
    const says = String(stdout).trim().replace("git version ", "");
    if (!isOld(says)) return { state: "ok", what: "git", says };
    const next = `Update it to ${LEAST.join(".")} or later: older ones use bare repositories among files.`;
    return { state: "warn", what: "git", says, next };
  } catch (error) {
    const next = "Install it, or add its folder to PATH.";
    return { state: "fail", what: "git", says: (error as Error).message, next };
  }
}

function isOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  return major < LEAST[0] || (major === LEAST[0] && minor < LEAST[1]);
}

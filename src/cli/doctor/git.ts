import { gitVersion } from "../../gateway/git-version.ts";
import type { Finding } from "./finding.ts";

/** Identities, reviews and much of the agent are nothing without it. */
export async function checkGit(folder: string, env: NodeJS.ProcessEnv): Promise<Finding> {
  try {
    return { state: "ok", what: "git", says: await gitVersion(folder, env) };
  } catch (error) {
    const next = "Install it, or add its folder to PATH.";
    return { state: "fail", what: "git", says: (error as Error).message, next };
  }
}

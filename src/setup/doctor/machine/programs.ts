import { Git } from "../../../git/git.ts";
import type { Finding } from "../finding.ts";

/** The same as `engines` in package.json. */
const NODE = { major: 26, minor: 1 };

export function checkNode(version: string): Finding {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const isNew = major > NODE.major || (major === NODE.major && minor >= NODE.minor);
  if (isNew) return { state: "ok", what: "Node", says: version };
  const needed = `${NODE.major}.${NODE.minor}`;
  return {
    state: "fail",
    what: "Node",
    says: `${version} is older than ${needed}`,
    next: `Install Node ${needed} or newer.`,
  };
}

/** The first version with `safe.bareRepository`. */
const GIT = [2, 38] as const;

/** Identities, reviews and the built-in agent need git. */
export async function checkGit(folder: string, env: NodeJS.ProcessEnv): Promise<Finding> {
  try {
    const { stdout } = await new Git(folder, { env }).run(["version"]);
    const says = String(stdout).trim().replace("git version ", "");
    if (!isOld(says)) return { state: "ok", what: "git", says };
    const next = `Update it to ${GIT.join(".")} or later: older versions trust bare repositories inside a project.`;
    return { state: "warn", what: "git", says, next };
  } catch (error) {
    const next = "Install it, or add its folder to PATH.";
    return { state: "fail", what: "git", says: (error as Error).message, next };
  }
}

function isOld(version: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  return major < GIT[0] || (major === GIT[0] && minor < GIT[1]);
}

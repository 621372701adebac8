import { Git } from "../git/git.ts";

/** Which git would be run; throws why none can. */
export async function gitVersion(folder: string, env: NodeJS.ProcessEnv): Promise<string> {
  const { stdout } = await new Git(folder, { env }).run(["version"]);
  return String(stdout).trim().replace("git version ", "");
}

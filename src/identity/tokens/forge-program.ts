import { TrunklineError } from "../../base/errors.ts";
import { runProgram } from "../../git/run-program.ts";
import type { Identity } from "../identity.ts";

const TIMEOUT = 5_000;
const MAX_OUTPUT = 16 * 1024;

/** The command that prints the forge's token, if the forge has one. */
export function forgeProgram({ provider, host }: Identity): [string, ...string[]] | undefined {
  if (host === undefined) return undefined;
  if (provider === "github") return ["gh", "auth", "token", "--hostname", host];
  if (provider === "gitlab") return ["glab", "config", "get", "token", "--host", host];
  return undefined;
}

/** The token that `gh` or `glab` is logged in with, if it is. */
export async function tokenOfProgram(
  identity: Identity,
  env: NodeJS.ProcessEnv,
): Promise<string | undefined> {
  const line = forgeProgram(identity);
  if (line === undefined) {
    const says = `Cannot get the token of identity '${identity.name}': its tokenSource is 'command-line', but there is no known program for ${identity.provider}`;
    throw new TrunklineError("config", says);
  }
  const [command, ...args] = line;
  // These variables would override the stored token that we want.
  const { GH_TOKEN: _, GITHUB_TOKEN: __, GITLAB_TOKEN: ___, ...own } = env;
  const { code, stdout } = await runProgram({
    command,
    args,
    env: own,
    timeout: TIMEOUT,
    maxOutput: MAX_OUTPUT,
  });
  const token = stdout.toString("utf8").trim();
  return code === 0 && token !== "" ? token : undefined;
}

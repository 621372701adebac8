import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { homeOf } from "../../base/process/environment.ts";
import { maskText } from "../../base/text/mask.ts";
import { runProgram } from "../../git/run-program.ts";

/**
 * The options that ssh itself reports for a host (`ssh -G`), with `Include` and `Match` applied.
 */
export interface SshOptions {
  readonly hostname: string;
  readonly user: string | undefined;
  readonly port: number;
  /** Absolute, in the order they are tried. */
  readonly identityFiles: readonly string[];
  readonly identitiesOnly: boolean;
}

export interface SshQuestion {
  readonly env: NodeJS.ProcessEnv;
  /** A configuration file instead of the user's own. */
  readonly file?: string;
}

const TIMEOUT = 5_000;
const MAX_OUTPUT = 1024 * 1024;

/** The user's SSH configuration file. */
export function sshConfigFile(env: NodeJS.ProcessEnv): string {
  return join(homeOf(env), ".ssh", "config");
}

/** Asks ssh for its options. Does not connect. */
export async function sshOptions(host: string, question: SshQuestion): Promise<SshOptions> {
  // ssh would read a name that begins with a dash as an option.
  if (host === "" || host.startsWith("-")) {
    throw new TrunklineError("usage", `Cannot ask ssh about '${host}': it is not a host name`);
  }
  const own =
    question.file === undefined ? sshConfigArguments(question.env) : ["-F", question.file];
  const { code, stdout, stderr } = await runProgram({
    command: "ssh",
    args: [...own, "-G", "--", host],
    env: question.env,
    timeout: TIMEOUT,
    maxOutput: MAX_OUTPUT,
  });
  if (code !== 0) {
    const why = maskText(stderr.trim()) || `it ended with ${code}`;
    throw new TrunklineError("unavailable", `Cannot ask ssh about '${host}': ${why}`);
  }
  return read(stdout.toString("utf8"), homeOf(question.env));
}

/** ssh ignores `HOME` and uses the account's home folder, so it needs -F where they differ. */
export function sshConfigArguments(env: NodeJS.ProcessEnv): string[] {
  if (homeOf(env) === userInfo().homedir) return [];
  const file = sshConfigFile(env);
  return ["-F", existsSync(file) ? file : "none"];
}

function read(text: string, home: string): SshOptions {
  const options = Map.groupBy(
    text.split("\n").map((line) => {
      const space = line.indexOf(" ");
      return { name: line.slice(0, Math.max(0, space)), value: line.slice(space + 1).trim() };
    }),
    ({ name }) => name,
  );
  const all = (name: string): string[] => (options.get(name) ?? []).map(({ value }) => value);
  return {
    hostname: all("hostname")[0]?.toLowerCase() ?? "",
    user: all("user")[0],
    port: Number(all("port")[0] ?? 22),
    identityFiles: all("identityfile").map((path) => {
      return path.startsWith("~/") ? join(home, path.slice(2)) : path;
    }),
    identitiesOnly: all("identitiesonly")[0] === "yes",
  };
}

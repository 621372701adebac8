import { maskText } from "../../base/text/mask.ts";
import { gitEnvironment } from "../../git/git.ts";
import { type ProgramEnd, runProgram } from "../../git/run-program.ts";
import { sshConfigArguments } from "../detect/ssh-options.ts";
import { splitHost } from "../host.ts";
import type { Identity } from "../identity.ts";

export interface SshLogin {
  readonly isOk: boolean;
  /** The user that the forge greets. */
  readonly user: string | undefined;
  readonly says: string;
}

const MAX_OUTPUT = 64 * 1024;

/** The greetings of forges for a login without a command. Forges then end with exit code 1. */
const GREETINGS: readonly RegExp[] = [
  /Hi ([^\s!]+)! You've successfully authenticated/,
  /Welcome to GitLab, @([^\s!]+)!/,
  /logged in as ([^\s.]+)/,
  /authenticated via (?:an? )?ssh key/i,
  /Hi there, ([^\s!]+)! You've successfully authenticated/,
];

/**
 * Logs in with the identity's own key only. It succeeds if the forge greets the user, or ssh ends
 * with 0; any other output does not count.
 */
export async function logInBySsh(
  identity: Identity,
  options: { readonly env: NodeJS.ProcessEnv; readonly timeout: number },
): Promise<SshLogin> {
  const { sshKey, sshHost, host, user } = identity;
  // The SSH configuration has the host and user of an alias.
  const target = sshHost ?? (host === undefined ? undefined : `git@${splitHost(host).name}`);
  if (target === undefined)
    return { isOk: false, user: undefined, says: "the identity has no host" };
  const seconds = Math.max(1, Math.ceil(options.timeout / 1000));
  const args = [
    ...sshConfigArguments(options.env),
    ...["-T", "-o", "BatchMode=yes", "-o", `ConnectTimeout=${seconds}`],
    ...["-o", "StrictHostKeyChecking=yes", "-o", "NumberOfPasswordPrompts=0"],
    ...(sshKey === undefined ? [] : ["-i", sshKey, "-o", "IdentitiesOnly=yes"]),
    ...["--", target],
  ];
  let end: ProgramEnd;
  try {
    end = await runProgram({
      command: "ssh",
      args,
      env: gitEnvironment(options.env),
      timeout: options.timeout,
      maxOutput: MAX_OUTPUT,
    });
  } catch (error) {
    return { isOk: false, user: undefined, says: (error as Error).message };
  }
  return judgeLogin(end.code, `${end.stdout.toString("utf8")}\n${end.stderr}`, user);
}

/** The result, from the exit code and the greeting. */
function judgeLogin(code: number | string, said: string, wanted: string | undefined): SshLogin {
  const greeting = GREETINGS.map((each) => each.exec(said)).find((found) => found !== null);
  const user = greeting?.[1];
  const isIn = code === 0 || (code === 1 && greeting !== undefined);
  if (!isIn) {
    const lines = said.split("\n").filter((line) => line.trim() !== "");
    const last = maskText(lines.at(-1)?.trim() ?? `ssh ended with ${code}`);
    return { isOk: false, user: undefined, says: `${last}${adviceFor(said)}` };
  }
  if (user !== undefined && wanted !== undefined && user.toLowerCase() !== wanted.toLowerCase()) {
    return { isOk: false, user, says: `the key belongs to '${user}', not to '${wanted}'` };
  }
  return {
    isOk: true,
    user,
    says: user === undefined ? "logged in; it did not say as whom" : `logged in as ${user}`,
  };
}

function adviceFor(said: string): string {
  if (/Host key verification failed|host key is known/i.test(said)) {
    return " (the host key is unknown: connect once by hand, and compare its fingerprint)";
  }
  if (/Permission denied \(/.test(said)) return " (the forge does not accept the key)";
  return "";
}

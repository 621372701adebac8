import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Credentials for a remote. */
export interface Credentials {
  /** Caches are not shared between scopes, so that nobody sees what only others may. */
  readonly scope: string;
  /** For HTTPS. */
  readonly user?: string | undefined;
  /** For HTTPS. A secret: it is passed on a descriptor and nowhere else. */
  readonly token?: string | undefined;
  /** Why there is no token, and what to do, for a remote that asks for one. */
  readonly noToken?: string | undefined;
  /** For SSH: the command with its options, as `core.sshCommand` has it. */
  readonly sshCommand?: string | undefined;
}

/** How git is started to use credentials. */
export interface Login {
  readonly env: NodeJS.ProcessEnv;
  /** Written to descriptor 3 of the program. */
  readonly secret?: string;
}

/**
 * Answers git's two questions (gitcredentials(7)): the user name from the environment, the password
 * from descriptor 3.
 */
const ASKPASS = `#!/bin/sh
case "$1" in
  Username*) printf '%s\\n' "$TRUNKLINE_GIT_USER" ;;
  *) cat <&3 ;;
esac
`;

/** How ssh is started where no identity says otherwise. */
export const SSH = "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes";

/** `askpass` is where `writeAskpass` has put its program. */
export function loginWith(credentials: Credentials | undefined, askpass: string): Login {
  if (credentials === undefined) return { env: { GIT_SSH_COMMAND: "false" } };
  const { user = "git", token, sshCommand = SSH } = credentials;
  const env = { GIT_SSH_COMMAND: sshCommand, GIT_SSH_VARIANT: "ssh" };
  if (token === undefined) return { env };
  const asking = { GIT_ASKPASS: askpass, TRUNKLINE_GIT_USER: user };
  return { env: { ...env, ...asking }, secret: `${token}\n` };
}

/** Writes the askpass program, which contains no secret. Returns its path. */
export async function writeAskpass(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o711 });
  const path = join(folder, "askpass");
  const unfinished = `${path}-${process.pid}`;
  await writeFile(unfinished, ASKPASS, { mode: 0o700 });
  await rename(unfinished, path);
  return path;
}

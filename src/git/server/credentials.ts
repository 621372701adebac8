import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** How git gets in where it fetches from and pushes to. */
export interface Credentials {
  /** Tells apart what different people may see: caches are not shared between scopes. */
  readonly scope: string;
  /** For HTTPS. */
  readonly user?: string | undefined;
  /** For HTTPS, and a secret: it goes over a descriptor, and nowhere else. */
  readonly token?: string | undefined;
  /** For SSH: the command with its options, as `core.sshCommand` has it. */
  readonly sshCommand?: string | undefined;
}

export const NO_CREDENTIALS: Credentials = { scope: "" };

/** What git is started with to use some credentials. */
export interface Login {
  readonly env: NodeJS.ProcessEnv;
  /** Written to descriptor 3 of the program. */
  readonly secret?: string;
}

/** Answers git's two questions: the name is in the environment, the secret comes on a descriptor. */
const ASKPASS = `#!/bin/sh
case "$1" in
  Username*) printf '%s\\n' "$TRUNKLINE_GIT_USER" ;;
  *) cat <&3 ;;
esac
`;

const SSH = "ssh -o BatchMode=yes -o StrictHostKeyChecking=yes";

/** `askpass` is where `writeAskpass` has put its program. */
export function loginWith(credentials: Credentials | undefined, askpass: string): Login {
  if (credentials === undefined) return { env: { GIT_SSH_COMMAND: "false" } };
  const { user = "git", token, sshCommand = SSH } = credentials;
  const env = { GIT_SSH_COMMAND: sshCommand, GIT_SSH_VARIANT: "ssh" };
  if (token === undefined) return { env };
  const asking = { GIT_ASKPASS: askpass, TRUNKLINE_GIT_USER: user };
  return { env: { ...env, ...asking }, secret: `${token}\n` };
}

/** Writes the small program that git asks for secrets; it holds none. Returns where it is. */
export async function writeAskpass(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o711 });
  const path = join(folder, "askpass");
  const unfinished = `${path}-${process.pid}`;
  await writeFile(unfinished, ASKPASS, { mode: 0o700 });
  await rename(unfinished, path);
  return path;
}

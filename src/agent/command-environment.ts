import { userInfo } from "node:os";

import { OwnedChild } from "../base/process/child-process.ts";
import { mask } from "../base/text/mask.ts";
import { readBounded } from "./files/read-bounded.ts";

/** The identity of an agent for git and forges. */
export interface AgentIdentity {
  /** Empty if the agent acts as the user who runs us. */
  readonly name: string;
  /** The given environment with the variables that make git use the identity. */
  environment(base: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
  /**
   * The same for a process that we start ourselves, with the token that programs of forges read. It
   * must not be sent to an editor, logged or shown to a model.
   */
  processEnvironment(base: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
}

/**
 * Finds the identity to use in a folder, for commands of one session if it is named; undefined where none
 * is configured.
 */
export type IdentityLookup = (cwd: string, session?: string) => Promise<AgentIdentity | undefined>;

/**
 * The variables of an identity as ACP's terminal/create takes them. With `isOurs` we start the
 * command ourselves and without a sandbox, so it gets the token too.
 */
export function identityVariables(identity: AgentIdentity | undefined, isOurs = false) {
  const variables = isOurs ? identity?.processEnvironment({}) : identity?.environment({});
  return Object.entries(variables ?? {}).map(([name, value]) => ({ name, value: value ?? "" }));
}

/** An environment without variables whose name or value looks like a secret. */
export function harmlessVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const shown = mask({ ...env }) as Record<string, unknown>;
  const isHarmless = ([name, value]: readonly [string, unknown]): boolean =>
    shown[name] === value && !name.startsWith("TRUNKLINE_");
  return Object.fromEntries(Object.entries(env).filter(isHarmless));
}

/** Folders in the PATH of programs that were not started by a shell. */
const BARE = /^(?:\/usr(?:\/local)?)?\/s?bin$/;
/** Milliseconds for the shell to answer: one that asks a question never does. */
const PATIENCE = 5_000;
const MARK = "trunkline-path:";

const asked = new Map<string, Promise<string>>();

/**
 * The PATH for commands. An editor that was started from a menu has only the system's PATH. The folders
 * of the person's tools are set up by their login shell, which is asked once.
 */
export async function loginPath(env: NodeJS.ProcessEnv): Promise<string> {
  const { PATH: path = "", SHELL: shell = userInfo().shell ?? "" } = env;
  if (shell === "" || path.split(":").some((folder) => !BARE.test(folder))) return path;
  const known = asked.getOrInsertComputed(shell, () => askShell(shell, env).catch(() => ""));
  const folders = [...(await known).split(":"), ...path.split(":")];
  return [...new Set(folders.filter((folder) => folder !== ""))].join(":");
}

async function askShell(shell: string, env: NodeJS.ProcessEnv): Promise<string> {
  // The output of the shell's start-up files comes before the mark.
  const args = ["-l", "-i", "-c", `echo; echo "${MARK}$PATH"`];
  const child = await OwnedChild.start({ command: shell, args, env });
  child.stdin.end();
  const options = { most: 60_000, timeout: PATIENCE };
  const { text, isLate } = await readBounded(child, options);
  const line = text.split("\n").findLast((each) => each.startsWith(MARK));
  return isLate || line === undefined ? "" : line.slice(MARK.length).trim();
}

import { userInfo } from "node:os";

import { OwnedChild } from "../base/process/child-process.ts";
import { Stopper } from "../base/stop.ts";
import { mask } from "../base/text/mask.ts";
import { readBounded } from "./files/read-bounded.ts";

/** Whom an agent acts as to git and to forges. */
export interface AgentIdentity {
  readonly name: string;
  /** An environment in which it does, made of one in which it might not. */
  environment(base: NodeJS.ProcessEnv): NodeJS.ProcessEnv;
}

/** Whom it acts as in a folder; nobody where nobody can tell. */
export type ActsAs = (cwd: string) => Promise<AgentIdentity | undefined>;

interface Variable {
  readonly name: string;
  readonly value: string;
}

/** The same as a list of what is set, for an environment that somebody else has. */
export function identityVariables(identity: AgentIdentity | undefined): Variable[] {
  return Object.entries(identity?.environment({}) ?? {}).map(([name, value]) => {
    return { name, value: value ?? "" };
  });
}

/** The variables of an environment that are no secrets, by their names and their looks. */
export function harmlessVariables(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const shown = mask({ ...env }) as Record<string, unknown>;
  return Object.fromEntries(
    Object.entries(env).filter(([name, value]) => {
      return shown[name] === value && !name.startsWith("TRUNKLINE_");
    }),
  );
}

/** Folders that a system gives to programs which no shell has started. */
const BARE = /^(?:\/usr(?:\/local)?)?\/s?bin$/;
/** Milliseconds; a shell that asks something never answers. */
const PATIENCE = 5_000;
const MARK = "trunkline-path:";

const asked = new Map<string, Promise<string>>();

/**
 * The PATH that commands are found by. An editor that was started from a menu has but the system's
 * own, and passes that on; the person's tools are where their shell says, which is asked once.
 */
export async function loginPath(env: NodeJS.ProcessEnv): Promise<string> {
  const { PATH: path = "", SHELL: shell = userInfo().shell ?? "" } = env;
  if (shell === "" || path.split(":").some((folder) => !BARE.test(folder))) return path;
  const known = asked.get(shell) ?? askShell(shell, env).catch(() => "");
  asked.set(shell, known);
  const folders = [...(await known).split(":"), ...path.split(":")];
  return [...new Set(folders.filter((folder) => folder !== ""))].join(":");
}

async function askShell(shell: string, env: NodeJS.ProcessEnv): Promise<string> {
  // What it greets with comes before the mark.
  const args = ["-l", "-i", "-c", `echo; echo "${MARK}$PATH"`];
  const child = await OwnedChild.start({ command: shell, args, env });
  child.stdin.end();
  const options = { stop: new Stopper(), most: 60_000, timeout: PATIENCE };
  const { text, isLate } = await readBounded(child, options);
  const line = text.split("\n").findLast((each) => each.startsWith(MARK));
  return isLate || line === undefined ? "" : line.slice(MARK.length).trim();
}

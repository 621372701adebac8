import { userInfo } from "node:os";

import { OwnedChild } from "../../base/process/child-process.ts";
import { Stopper } from "../../base/stop.ts";
import { readBounded } from "./read-bounded.ts";

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

import { isAbsolute } from "node:path";

import { TrunklineError } from "../errors.ts";

/**
 * The home folder of whoever an environment belongs to. One that is not absolute is refused: what is in the
 * current folder may be anybody's, and another folder is not the one that was meant.
 */
export function homeOf({ HOME = "" }: NodeJS.ProcessEnv): string {
  if (isAbsolute(HOME)) return HOME;
  if (HOME !== "") {
    const why = `HOME is '${HOME}', which is not an absolute path`;
    const says = `Cannot tell where your home folder is: ${why}. Set it to one.`;
    throw new TrunklineError("config", says);
  }
  try {
    // Loaded on demand: it is hardly ever needed, and would delay every start.
    return process.getBuiltinModule("node:os").userInfo().homedir;
  } catch (error) {
    const message = "Cannot tell where your home folder is: HOME is not set. Set it.";
    throw new TrunklineError("config", message, { cause: error });
  }
}

/**
 * The absolute folders of a `PATH`. With a relative one, a program would be looked for in the folder that it
 * is to run in, and a repository can hold a file named `git`.
 */
export function absolutePath(path: string | undefined): string {
  const folders = (path ?? "").split(":").filter((folder) => isAbsolute(folder));
  return folders.length === 0 ? "/usr/local/bin:/usr/bin:/bin" : folders.join(":");
}

export function isSet(value: string | undefined): value is string {
  return value !== undefined && value !== "";
}

/** Whether a variable switches something on. */
export function isOn(value: string | undefined): boolean {
  return isSet(value) && value !== "0" && value !== "false";
}

/** Variables that programs need to run. Others, such as our keys, are not passed on. */
const USUAL = [
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TERM|LANG|LANGUAGE|TZ|TMPDIR|TMP|TEMP)$/,
  /^(?:LC_|XDG_)/,
  // Where a machine reaches the world through a proxy or with certificates of its own.
  /^(?:https?_proxy|no_proxy|all_proxy|NODE_EXTRA_CA_CERTS|SSL_CERT_(?:FILE|DIR))$/i,
];

/** The variables of our own environment that every child gets. */
export function usualVariables(env = process.env): NodeJS.ProcessEnv {
  return Object.fromEntries(
    Object.entries(env).filter(([name]) => USUAL.some((usual) => usual.test(name))),
  );
}

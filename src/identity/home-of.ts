import { homedir } from "node:os";

/** The home of whoever an environment belongs to. */
export function homeOf({ HOME }: NodeJS.ProcessEnv): string {
  return HOME === undefined || HOME === "" ? homedir() : HOME;
}

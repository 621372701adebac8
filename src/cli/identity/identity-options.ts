import { arg, flag, text } from "../shell/command.ts";

/** Options and arguments that several commands about identities share. */
export const repo = text("DIR", "The repository, instead of the one in the current folder");
export const name = arg("NAME", "The identity");
export const dryRun = flag("Print the changes without making them");

import type { Pack } from "./pack.ts";

export interface Entries {
  /** The module of the pack that can run every command. */
  readonly main: string;
  /** The scripts of commands that have their own file. */
  readonly starts: ReadonlyMap<string, string>;
}

/** The launcher with the file names of the build filled in, so that a start does not have to search. */
export function launcherText(source: string, pack: Pack, { main, starts }: Entries): string {
  const { name, index } = pack;
  const build = { pack: name, index, main, starts: Object.fromEntries(starts) };
  const text = source.replace('"BUILD"', () => JSON.stringify(build));
  if (text === source)
    throw new Error("Cannot find the placeholder for the build's files in the launcher");
  return text;
}

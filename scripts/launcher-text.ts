import type { Pack } from "./pack.ts";

export interface Entries {
  /** The module of the pack that runs any command. */
  readonly main: string;
  /** The scripts of commands that have a file of their own. */
  readonly starts: ReadonlyMap<string, string>;
}

/** The launcher with what it has to know of the build: no start looks for anything. */
export function launcherText(source: string, pack: Pack, { main, starts }: Entries): string {
  const { name, index } = pack;
  const build = { pack: name, index, main, starts: Object.fromEntries(starts) };
  const text = source.replace('"BUILD"', () => JSON.stringify(build));
  if (text === source) throw new Error("Cannot find where the launcher is told of the build");
  return text;
}

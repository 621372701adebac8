import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";

import { homeOf } from "../base/process/environment.ts";

/** The folders in which programs keep their configuration. */
export interface Places {
  readonly home: string;
  /** `$XDG_CONFIG_HOME`, which is usually `~/.config`. */
  readonly config: string;
  /** Where desktop programs keep theirs: the same on Linux, elsewhere another. */
  readonly support: string;
  readonly isWindows: boolean;
  readonly isMac: boolean;
  /** A folder or file that a variable names, if it does. */
  readonly named: (variable: string) => string | undefined;
  readonly exists: (path: string) => boolean;
}

export function placesOf(
  env: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): Places {
  const named = (variable: string): string | undefined => {
    const value = env[variable];
    return value !== undefined && isAbsolute(value) ? value : undefined;
  };
  const home = homeOf(env);
  const config = named("XDG_CONFIG_HOME") ?? join(home, ".config");
  const [isWindows, isMac] = [platform === "win32", platform === "darwin"];
  const roaming = named("APPDATA") ?? join(home, "AppData", "Roaming");
  const library = join(home, "Library", "Application Support");
  const support = isWindows ? roaming : isMac ? library : config;
  return { home, config, support, isWindows, isMac, named, exists: existsSync };
}

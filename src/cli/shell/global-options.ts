import type { Invocation } from "./command.ts";

/** The global options of a command, for another command that is to use the same files. */
export function globalOptions(values: Invocation["values"]): string[] {
  return ["config", "data", "set"].flatMap((name) => {
    const given = [values[name] ?? []].flat();
    return given.map((value) => `--${name}=${String(value)}`);
  });
}

import { expandPath } from "../../config/locations.ts";
import type { Invocation } from "./command.ts";

/** The global options of a command, for another command that is to use the same files from anywhere. */
export function globalOptions({
  values,
  cwd,
  env,
}: Pick<Invocation, "values" | "cwd" | "env">): string[] {
  const { config, data, set } = values;
  return Object.entries({ config, data, set }).flatMap(([name, value]) => {
    const given = [value ?? []].flat().map(String);
    return given.map((each) => `--${name}=${name === "set" ? each : expandPath(each, cwd, env)}`);
  });
}

import { TrunklineError } from "../base/errors.ts";
import type { ConfigInput } from "./config.ts";
import { type KeyPath, keyText, type ConfigLayer } from "./layer.ts";
import { expandPath } from "./locations.ts";
import { parseAssignment, readScalar, SingleValues } from "./set-path.ts";

/** The values of the command line. A dedicated option is stronger than `--set`. */
export function flagsLayer({ cwd, env, flags }: ConfigInput): ConfigLayer {
  const set = new SingleValues();
  for (const text of flags.set ?? []) {
    const { path, value } = parseAssignment(text);
    set.add(path, value, `--set ${keyText(path)}`);
  }
  if (flags.host !== undefined) set.add(["serve", "host"], flags.host, "--host");
  if (flags.port !== undefined) {
    set.add(["serve", "port"], readScalar(String(flags.port), "integer"), "--port");
  }
  for (const [path, value, name] of flags.more ?? []) set.add(path, value, name);
  if (flags.noSandbox === true) set.add(["remote", "sandbox"], "unsafe-off", "--unsafe-no-sandbox");
  if (flags.data !== undefined) set.add(["data"], flags.data, "--data");
  const { data, ...others } = set.values;
  const isPath = typeof data === "string" && data !== "";
  const where = (path: KeyPath): string => set.nameOf(path) ?? "--set";
  return {
    kind: "flag",
    values: isPath ? { ...set.values, data: expandPath(data, cwd, env) } : set.values,
    isRight: Object.keys(others).length === 0 && (data === undefined || isPath),
    where,
    complain: (path, says) => {
      return new TrunklineError("usage", `${where(path)}: '${keyText(path)}' ${says}`);
    },
  };
}

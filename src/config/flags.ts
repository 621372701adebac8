import { TrunklineError } from "../base/errors.ts";
import type { ConfigInput } from "./config.ts";
import { type KeyPath, keyText, type Layer, mergeValues, type Values } from "./layer.ts";
import { expandPath } from "./locations.ts";
import { nest, parseAssignment, readScalar } from "./set-path.ts";

/** What the command line sets. An option of its own is stronger than `--set`. */
export function flagsLayer({ cwd, env, flags }: ConfigInput): Layer {
  let values: Values = {};
  const names = new Map<string, string>();
  const add = (path: KeyPath, value: unknown, name: string): void => {
    values = mergeValues(values, nest(path, value));
    names.set(keyText(path), name);
  };
  for (const text of flags.set ?? []) {
    const { path, value } = parseAssignment(text);
    add(path, value, `--set ${keyText(path)}`);
  }
  if (flags.host !== undefined) add(["server", "host"], flags.host, "--host");
  if (flags.port !== undefined) {
    add(["server", "port"], readScalar(String(flags.port), "integer"), "--port");
  }
  for (const [path, value, name] of flags.more ?? []) add(path, value, name);
  if (flags.noSandbox === true) add(["remote", "sandbox"], "unsafe-off", "--unsafe-no-sandbox");
  if (flags.data !== undefined) add(["data"], flags.data, "--data");
  const { data, ...others } = values;
  const isPath = typeof data === "string" && data !== "";
  return {
    kind: "flag",
    values: isPath ? { ...values, data: expandPath(data, cwd, env) } : values,
    isRight: Object.keys(others).length === 0 && (data === undefined || isPath),
    ...tell(names),
  };
}

function tell(names: ReadonlyMap<string, string>): Pick<Layer, "where" | "complain"> {
  /** An option may set an object with the value inside it. */
  const where = (path: KeyPath): string => {
    for (let length = path.length; length > 0; length--) {
      const name = names.get(keyText(path.slice(0, length)));
      if (name !== undefined) return name;
    }
    return "--set";
  };
  return {
    where,
    complain: (path, says) => {
      return new TrunklineError("usage", `${where(path)}: '${keyText(path)}' ${says}`);
    },
  };
}

import { TrunklineError } from "../base/errors.ts";
import type { FlagValue } from "./config.ts";
import { readScalar } from "./set-path.ts";

/** `--bus`, `--pool`, `--name`, `--slots` and `--label` of `serve` and `worker`. */
export interface FleetFlags {
  readonly bus?: string | undefined;
  readonly pool?: string | undefined;
  readonly name?: string | undefined;
  readonly slots?: string | undefined;
  readonly label?: readonly string[] | undefined;
}

/** What the options set in the configuration. */
export function fleetValues(flags: FleetFlags): FlagValue[] {
  return [...valuesOf(flags)];
}

function* valuesOf(flags: FleetFlags): Generator<FlagValue> {
  const { bus, pool, name, slots, label = [] } = flags;
  if (bus !== undefined) yield [["fleet", "url"], bus, "--bus"];
  if (pool !== undefined) yield [["fleet", "pool"], pool, "--pool"];
  if (name !== undefined) yield [["fleet", "name"], name, "--name"];
  if (slots !== undefined) yield [["fleet", "slots"], readScalar(slots, "integer"), "--slots"];
  for (const text of label) {
    const [key = "", ...value] = text.split("=");
    if (key === "" || value.length === 0) {
      throw new TrunklineError("usage", `--label: '${text}' is not KEY=VALUE, such as gpu=yes.`);
    }
    yield [["fleet", "labels", key], value.join("="), "--label"];
  }
}

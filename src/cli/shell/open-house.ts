import type { ConfigFlags } from "../../config/config.ts";
import { loadConfig } from "../../config/load.ts";
import { expandPath } from "../../config/locations.ts";
import { House } from "../../config/house.ts";
import { outliveRejections } from "../../base/process/long-running.ts";
import type { Invocation, Values } from "./command.ts";

/** Options of `serve`, `worker` and `run` that the configuration has, too. */
type ServeFlags = Pick<ConfigFlags, "host" | "port" | "noSandbox" | "more">;

const NO_SANDBOX_WARNING =
  "--unsafe-no-sandbox: AGENTS OF REMOTE RUNS, AND ALL THAT A REPOSITORY HAS THEM RUN, CAN DO " +
  "WHATEVER YOU CAN ON THIS MACHINE.";

/** The house of a command that runs until it is stopped: it survives unhandled rejections. */
export async function openLastingHouse(
  invocation: Invocation,
  serving: ServeFlags = {},
): Promise<House> {
  const house = await openHouse(invocation, serving);
  outliveRejections(house.log);
  return house;
}

/** The house with the configuration of command line, environment and files. Warnings go to stderr. */
export async function openHouse(invocation: Invocation, serving: ServeFlags = {}): Promise<House> {
  const { cwd, env } = invocation;
  const flags = { ...configFlags(invocation.values), ...serving };
  const load = () => loadConfig({ cwd, env, flags });
  const { config, warnings, files } = await load();
  for (const warning of warnings) invocation.err(`trunkline: ${warning}\n`);
  if (serving.noSandbox === true) invocation.err(`trunkline: warning: ${NO_SANDBOX_WARNING}\n`);
  const house: House = new House(config, {
    files: files.map(({ path }) => path),
    load: async () => {
      const read = await load();
      for (const says of read.warnings) house.log.warn("config.warning", { says });
      return read.config;
    },
  });
  if (config.telemetry?.otlp?.enabled === true || config.log.requests) {
    const { observe } = await import("../../app/observe.ts");
    await observe(house);
  }
  return house;
}

/**
 * The global options that are about the configuration, and no others: `--host` of an identity is not
 * that of the server.
 */
export function configFlags(values: Values): ConfigFlags {
  // The types follow from GLOBAL_OPTIONS.
  const { config, data, set } = values as ConfigFlags;
  return { config, data, set };
}

/** The house of a short command: it logs errors only, unless --verbose is given. */
export async function quietHouse(invocation: Invocation, serving: ServeFlags = {}): Promise<House> {
  const { config, reloading } = await openHouse(invocation, serving);
  return new House(
    config.log.verbose
      ? config
      : { ...config, log: { level: "error", verbose: false, requests: false } },
    reloading,
  );
}

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

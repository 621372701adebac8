import type { ConfigFlags } from "../../config/config.ts";
import { loadConfig } from "../../config/load.ts";
import { expandPath } from "../../config/locations.ts";
import { AppContext } from "../../config/app-context.ts";
import { outliveRejections } from "../../base/process/long-running.ts";
import type { Invocation, Values } from "./command.ts";

/** Options of `serve`, `worker` and `run` that the configuration has, too. */
type ServeFlags = Pick<ConfigFlags, "host" | "port" | "noSandbox" | "more">;

const NO_SANDBOX_WARNING =
  "--unsafe-no-sandbox: AGENTS OF REMOTE RUNS, AND ALL THAT A REPOSITORY HAS THEM RUN, CAN DO " +
  "WHATEVER YOU CAN ON THIS MACHINE.";

/** The program of a command that runs until it is stopped: it survives unhandled rejections. */
export async function openLastingApp(
  invocation: Invocation,
  serving: ServeFlags = {},
): Promise<AppContext> {
  const app = await openApp(invocation, serving);
  outliveRejections(app.log);
  return app;
}

/** The program with the configuration of command line, environment and files. Warnings go to stderr. */
export async function openApp(
  invocation: Invocation,
  serving: ServeFlags = {},
): Promise<AppContext> {
  const { cwd, env } = invocation;
  const flags = { ...configFlags(invocation.values), ...serving };
  const load = () => loadConfig({ cwd, env, flags });
  const { config, warnings, files } = await load();
  for (const warning of warnings) invocation.err(`trunkline: ${warning}\n`);
  if (serving.noSandbox === true) invocation.err(`trunkline: warning: ${NO_SANDBOX_WARNING}\n`);
  const app: AppContext = new AppContext(config, {
    files: files.map(({ path }) => path),
    set: flags.set,
    load: async () => {
      const read = await load();
      for (const says of read.warnings) app.log.warn("config.warning", { says });
      return read.config;
    },
  });
  if (config.telemetry?.otlp?.enabled === true || config.log.requests) {
    const { observe } = await import("../../app/observe.ts");
    await observe(app);
  }
  return app;
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

/** The program of a short command: it logs errors only, unless --verbose is given. */
export async function openQuietApp(
  invocation: Invocation,
  serving: ServeFlags = {},
): Promise<AppContext> {
  const { config, reloading } = await openApp(invocation, serving);
  return new AppContext(
    config.log.verbose
      ? config
      : { ...config, log: { level: "error", verbose: false, requests: false } },
    reloading,
  );
}

/** The global options of a command, for another command that is to use the same files from anywhere. */
export function globalOptions(of: Pick<Invocation, "values" | "cwd" | "env">): string[] {
  const { cwd, env } = of;
  const { config, data, set } = of.values;
  return Object.entries({ config, data, set }).flatMap(([name, value]) => {
    const given = [value ?? []].flat().map(String);
    return given.map((each) => `--${name}=${name === "set" ? each : expandPath(each, cwd, env)}`);
  });
}

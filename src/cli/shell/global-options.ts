import type { Command, Options } from "./command.ts";

/** Understood by every command. */
export const GLOBAL_OPTIONS: Options = {
  config: {
    type: "string",
    value: "FILE",
    describe: "Read the configuration from FILE (also TRUNKLINE_CONFIG)",
  },
  data: {
    type: "string",
    value: "DIR",
    describe: "Keep all state under DIR (also TRUNKLINE_DATA)",
  },
  set: {
    type: "string",
    value: "KEY=VALUE",
    multiple: true,
    describe: "Set one configuration value for this run; may be repeated",
  },
  verbose: {
    type: "boolean",
    describe: "Log every message to stderr (also TRUNKLINE_VERBOSE=1)",
  },
  help: { type: "boolean", short: "h", describe: "Show this help" },
};

export function optionsOf(command: Command): Options {
  return { ...GLOBAL_OPTIONS, ...command.options };
}

import type { OptionSpec } from "../shell/command.ts";

/** Options of the commands that meet at NATS. */
export const BUS: OptionSpec = {
  type: "string",
  value: "URL",
  describe: "NATS server where gateways and workers meet, such as nats://bus.example:4222",
};

export const POOL: OptionSpec = {
  type: "string",
  value: "POOL",
  describe: "Pool of workers, instead of the configured one (default)",
};

export const NODE_NAME: OptionSpec = {
  type: "string",
  value: "NAME",
  describe: "Name of this node; by default the machine's, with four characters added",
};

import { text } from "../shell/command.ts";

/** Options of the commands that connect to NATS. */
export const BUS = text(
  "URL",
  "NATS server where gateways and workers meet, such as nats://bus.example:4222",
);

export const POOL = text("POOL", "Pool of workers, instead of the configured one (default)");

export const NODE_NAME = text(
  "NAME",
  "Name of this node; by default the machine's, with four characters added",
);

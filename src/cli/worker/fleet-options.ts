/** Options of all commands that meet at NATS. */
export const FLEET_OPTIONS = {
  bus: {
    type: "string",
    value: "URL",
    describe: "NATS server where gateways and workers meet, such as nats://bus.example:4222",
  },
  pool: {
    type: "string",
    value: "POOL",
    describe: "Pool of workers, instead of the configured one (default)",
  },
  name: {
    type: "string",
    value: "NAME",
    describe: "Name of this node; by default the machine's, with four characters added",
  },
} as const;

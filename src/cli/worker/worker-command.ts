import { type Command, json } from "../shell/command.ts";
import { BUS, NODE_NAME, POOL } from "./fleet-options.ts";

export const worker: Command = {
  name: "worker",
  summary: "Hold sessions for gateways on other machines",
  description:
    "Opens sessions that clients begin at any gateway of the pool (`trunkline serve --bus`), and runs " +
    "their agents here. Gateways and workers may end at any time: sessions continue on another worker. " +
    "The first Ctrl-C or SIGTERM stops at once; turns that run are reported as interrupted. Use " +
    "`trunkline worker drain` to let them end first: then the exit code is 100, so that whatever started " +
    "the worker can tell that it should not start it again.\n\n" +
    "Credentials for NATS are in a file that `fleet.credentials` of the configuration names.",
  options: {
    bus: BUS,
    pool: POOL,
    name: NODE_NAME,
    slots: {
      type: "string",
      value: "N",
      describe: "How many sessions it has open at once, instead of the configured number (8)",
    },
    label: {
      type: "string",
      value: "KEY=VALUE",
      multiple: true,
      describe: "A label that sessions can ask for; may be repeated",
    },
    json: { type: "boolean", describe: "Print one JSON line with its name once it is ready" },
  },
  examples: [
    {
      run: "trunkline worker --bus nats://127.0.0.1:4222",
      explains: "Work for the gateways that meet there.",
    },
    {
      run: "trunkline worker --bus nats://127.0.0.1:4222 --pool gpu --slots 2 --label gpu=a100",
      explains: "Two sessions at once, for a pool of its own, with a label.",
    },
    { run: "trunkline worker drain builder-1", explains: "Let it finish, then end it." },
  ],
  load: () => import("./worker.ts"),
  commands: [
    {
      name: "list",
      summary: "Show the gateways and workers of a pool",
      options: { bus: BUS, pool: POOL, json },
      examples: [{ run: "trunkline worker list", explains: "Who is there, and how busy." }],
      load: () => import("./list.ts"),
    },
    {
      name: "drain",
      summary: "Let a worker finish its turns, move its sessions, and end",
      description:
        "The worker takes no new session. Sessions without a running turn move to other workers at once, " +
        "the others when their turn has ended. Then the worker ends. The exit code is 1 if it ends before " +
        "that.\n\n" +
        "A worker's own credentials are enough to drain that worker; for others it needs those of a " +
        "gateway, and in both cases `fleet.name` as they were made for.",
      args: [
        {
          name: "NAME",
          describe:
            "Name of the worker, as `trunkline worker list` shows it; otherwise the one of this data folder",
          optional: true,
        },
      ],
      options: { bus: BUS, pool: POOL, json },
      examples: [
        { run: "trunkline worker drain builder-1", explains: "For example before an upgrade." },
      ],
      load: () => import("./drain.ts"),
    },
    {
      name: "credentials",
      summary: "Make credentials for one gateway or worker",
      description:
        "Writes a secret for the node to a file that only you can read, and prints the user for the " +
        "configuration of nats-server: it may do what a node of this pool needs, and nothing else. Each " +
        "pool has an account there, with the users of all its nodes.",
      args: [
        {
          name: "NAME",
          describe: "Name of the node, the same as its --name; '*' for all nodes of the role",
        },
      ],
      options: {
        role: {
          type: "string",
          value: "ROLE",
          describe: "What the node is",
          choices: ["gateway", "worker"],
          default: "worker",
        },
        pool: POOL,
        out: {
          type: "string",
          value: "FILE",
          describe: "File for the secret, which must not exist",
          default: "node.nkey",
        },
        json,
      },
      examples: [
        {
          run: "trunkline worker credentials builder-1 --out builder-1.nkey",
          explains: "For a worker of the default pool.",
        },
        {
          run: "trunkline worker credentials front-1 --role gateway --pool gpu --out front-1.nkey",
          explains: "For a gateway of another pool.",
        },
      ],
      load: () => import("./credentials.ts"),
    },
  ],
};

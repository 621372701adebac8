import { arg, type Command, commandsIn, flag, text } from "../shell/command.ts";

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
    slots: text("N", "How many sessions it has open at once, instead of the configured number (8)"),
    label: text("KEY=VALUE...", "A label that sessions can ask for; may be repeated"),
    json: flag("Print one JSON line with its name once it is ready"),
  },
  examples: {
    "trunkline worker --bus nats://127.0.0.1:4222": "Work for the gateways that meet there.",
    "trunkline worker --bus nats://127.0.0.1:4222 --pool gpu --slots 2 --label gpu=a100":
      "Two sessions at once, for a pool of its own, with a label.",
    "trunkline worker drain builder-1": "Let it finish, then end it.",
  },
  load: () => import("./worker.ts"),
  commands: commandsIn(() => import("./worker.ts"), {
    list: {
      summary: "List the gateways and workers of a pool",
      options: { bus: BUS, pool: POOL },
      examples: { "trunkline worker list": "Lists the nodes and how many slots are used." },
    },
    drain: {
      summary: "Let a worker finish its turns, move its sessions, and end",
      description:
        "The worker takes no new session. Sessions without a running turn move to other workers at once, " +
        "the others when their turn has ended. Then the worker ends. The exit code is 1 if it ends before " +
        "that.\n\n" +
        "A worker's own credentials are enough to drain that worker; for others it needs those of a " +
        "gateway, and in both cases `fleet.name` as they were made for.",
      args: [
        arg(
          "[NAME]",
          "Name of the worker, as `trunkline worker list` shows it; otherwise the one of this data folder",
        ),
      ],
      options: { bus: BUS, pool: POOL },
      examples: { "trunkline worker drain builder-1": "For example before an upgrade." },
    },
    credentials: {
      summary: "Make credentials for one gateway or worker",
      description:
        "Writes a secret for the node to a file that only you can read, and prints the user for the " +
        "configuration of nats-server: it may do what a node of this pool needs, and nothing else. Each " +
        "pool has an account there, with the users of all its nodes.",
      args: [
        arg("NAME", "Name of the node, the same as its --name; '*' for all nodes of the role"),
      ],
      options: {
        role: text("ROLE", "What the node is", {
          choices: ["gateway", "worker"],
          default: "worker",
        }),
        pool: POOL,
        out: text("FILE", "File for the secret, which must not exist", { default: "node.nkey" }),
      },
      examples: {
        "trunkline worker credentials builder-1 --out builder-1.nkey":
          "For a worker of the default pool.",
        "trunkline worker credentials front-1 --role gateway --pool gpu --out front-1.nkey":
          "For a gateway of another pool.",
      },
    },
  }),
};

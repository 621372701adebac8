import type { Command } from "../shell/command.ts";

export const orchestrator: Command = {
  name: "orchestrator",
  summary: "Run the plugin bus alone",
  description:
    "Starts the plugins of the configuration, looks after them, and passes calls, events and " +
    "storage on between them and whoever connects: `trunkline mcp --orchestrator-addr`, " +
    "`trunkline plugin`, or Orchestra's own programs. `trunkline serve` runs a bus too, when the " +
    "configuration has one. Stop it with Ctrl-C or SIGTERM.",
  options: {
    listen: {
      type: "string",
      value: "HOST:PORT",
      describe:
        "Address to listen on, instead of the configured one (localhost:50100); port 0 picks a " +
        "free one, tls://HOST:PORT does without UDP",
    },
    "certs-dir": {
      type: "string",
      value: "DIR",
      describe: "Folder of the certificates, instead of the configured one",
    },
    config: {
      type: "string",
      value: "FILE",
      describe: "Configuration to read; one that ends in .yaml is a plugins.yaml of Orchestra",
    },
    json: { type: "boolean", describe: "Print one JSON line with the address once it is ready" },
  },
  examples: [
    { run: "trunkline orchestrator", explains: "Run the configured plugins." },
    {
      run: "trunkline orchestrator --config plugins.yaml",
      explains: "Run those of an Orchestra workspace.",
    },
    {
      run: "trunkline orchestrator --listen localhost:0 --json",
      explains: "On a free port, and say which in a line that a script can read.",
    },
  ],
  load: () => import("./orchestrator.ts"),
};

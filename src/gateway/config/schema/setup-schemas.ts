/** How repositories are set up for remote runs, as it is written in a configuration file. */
export const SETUP_SCHEMAS = {
  SetupSettings: {
    description:
      "What is run once, before agents work on a repository, and kept for all runs on it.",
    type: "object",
    additionalProperties: false,
    properties: {
      repositories: {
        type: "object",
        description:
          "By `HOST/PATH` of the repository, such as `github.com/acme/*`; the first that fits counts.",
        additionalProperties: { $ref: "#RepositorySetup" },
        default: {},
        // Whoever sets a command and the names of secrets gets the secrets.
        "x-project": false,
      },
      from: {
        type: "array",
        items: { enum: ["script", "devcontainer"] },
        default: [],
        description:
          "What of a repository's own may set it up, where no command is configured for it: " +
          "`.trunkline/setup.sh`, or the lifecycle commands of its devcontainer.",
      },
      layers: {
        type: "integer",
        minimum: 1,
        maximum: 100,
        default: 4,
        description: "Results of set-up that are kept of each repository.",
      },
    },
  },
  RepositorySetup: {
    type: "object",
    additionalProperties: false,
    properties: {
      command: {
        type: "string",
        minLength: 1,
        description: "A line for a shell, such as `npm ci`; without it, what `from` finds.",
      },
      env: {
        type: "object",
        additionalProperties: { type: "string" },
        description: "Variables for set-up alone; no secrets.",
      },
      secrets: {
        type: "array",
        items: { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$" },
        description: "Variables of the server that set-up gets, and agents do not.",
      },
      keys: {
        type: "array",
        items: { type: "string", minLength: 1 },
        description:
          "Files whose change makes set-up run again, such as `schema/*.sql`; default the usual lock " +
          "files.",
      },
      keep: {
        type: "array",
        items: { type: "string", minLength: 1, pattern: "^[^!\\n]+$" },
        description:
          "What is kept besides what git ignores, and never committed, as `.gitignore` has it.",
      },
      allowHosts: {
        type: "array",
        items: { type: "string", pattern: "^[A-Za-z0-9*._-]+$" },
        description: "Hosts that set-up may reach besides those of `remote.egress.allowHosts`.",
      },
      timeout: {
        type: "integer",
        minimum: 1000,
        maximum: 86400000,
        description: "Milliseconds that set-up may take; ten minutes when left out.",
      },
    },
  },
} as const;

/** The settings of set-up for remote runs in a configuration file. */
export const SETUP_SCHEMAS = {
  SetupSettings: {
    description:
      "Commands that run once before agents work on a repository. All runs on it use their result.",
    type: "object",
    additionalProperties: false,
    properties: {
      repositories: {
        type: "object",
        description:
          "By `HOST/PATH` of the repository, such as `github.com/acme/*`, with the port if it is not the usual one; the first match applies.",
        additionalProperties: { $ref: "#RepositorySetup" },
        default: {},
        // A project's file could otherwise read any secret: with a command, and its name in `secrets`.
        "x-project": false,
      },
      from: {
        type: "array",
        items: { enum: ["script", "devcontainer"] },
        default: [],
        description:
          "Which files of a repository may define its set-up if no `command` is configured for it: " +
          "`.trunkline/setup.sh` (`script`), or its devcontainer.json (`devcontainer`).",
      },
      layers: {
        type: "integer",
        minimum: 1,
        maximum: 100,
        default: 4,
        description:
          "Results of set-up that are kept for each repository, in addition to those in use.",
      },
      maxLayer: {
        type: "integer",
        minimum: 1,
        default: 10737418240,
        description: "The most bytes that the result of a set-up may take on disk.",
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
        description: "A shell command, such as `npm ci`. Without it, `from` applies.",
      },
      env: {
        type: "object",
        additionalProperties: { type: "string" },
        description: "Environment variables for set-up only. Use `secrets` for secrets.",
      },
      secrets: {
        type: "array",
        items: { type: "string", pattern: "^[A-Za-z_][A-Za-z0-9_]*$" },
        description:
          "Environment variables that set-up gets, and agents do not: of the server, or stored in the " +
          "system's keychain with `trunkline models key set NAME`.",
      },
      keys: {
        type: "array",
        items: { type: "string", minLength: 1 },
        description:
          "Files that make set-up run again when they change, such as `schema/*.sql`. By default the " +
          "usual lock files.",
      },
      keep: {
        type: "array",
        items: { type: "string", minLength: 1, pattern: "^[^!\\n]+$" },
        description:
          "Patterns, as in `.gitignore`, of files that are kept like ignored ones, and never committed.",
      },
      allowHosts: {
        type: "array",
        items: { type: "string", pattern: "^[A-Za-z0-9*._-]+$" },
        description: "Hosts that set-up may reach in addition to `remote.egress.allowHosts`.",
      },
      timeout: {
        type: "integer",
        minimum: 1000,
        maximum: 86400000,
        description: "Milliseconds that set-up may take; ten minutes by default.",
      },
    },
  },
} as const;

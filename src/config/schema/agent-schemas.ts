/** The agents of sessions, as they are written in a configuration file. */
export const AGENT_SCHEMAS = {
  AgentSettings: {
    description: "The agent of sessions that name none, and where its commands run.",
    type: "object",
    additionalProperties: false,
    properties: {
      name: {
        type: "string",
        minLength: 1,
        default: "trunkline",
        description:
          "Agent of sessions that name none: one of `agents`, or `trunkline`, the built-in one. " +
          '`"agent": "NAME"` is short for it.',
      },
      sandbox: {
        enum: ["auto", "on", "off"],
        default: "auto",
        description:
          "Whether commands of the built-in agent run in a sandbox: where this machine can, always " +
          "(or else not at all), or never.",
        // A project is what the sandbox is there for.
        "x-project": false,
      },
      egress: {
        type: "object",
        additionalProperties: false,
        properties: {
          allowHosts: {
            type: "array",
            items: { type: "string", pattern: "^[A-Za-z0-9*._-]+$" },
            default: [],
            description:
              "Hosts that commands in the sandbox may reach without a question; `*.example.com` " +
              "stands for all below it.",
          },
        },
      },
      files: {
        type: "object",
        additionalProperties: false,
        "x-project": false,
        properties: {
          write: {
            type: "array",
            items: { type: "string", minLength: 1 },
            default: [],
            description: "Folders that commands in the sandbox may change beside the session's.",
          },
          hide: {
            type: "array",
            items: { type: "string", minLength: 1 },
            default: [],
            description: "Files and folders that they do not see, such as one in a project.",
          },
          show: {
            type: "array",
            items: { type: "string", minLength: 1 },
            default: [],
            description:
              "Files and folders that they see beside the session's, the system's programs and the " +
              "toolchains in your home folder.",
          },
        },
      },
      variables: {
        type: "array",
        items: { type: "string", minLength: 1 },
        default: [],
        description: "Variables of your environment that they get beside the usual ones.",
        "x-project": false,
      },
    },
  },
} as const;

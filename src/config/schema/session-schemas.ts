const BUDGET = {
  tokens: { type: "integer", minimum: 1, description: "Tokens of models, as agents report them." },
  cost: {
    type: "number",
    minimum: 0.0001,
    description: "US dollars, as agents report them.",
  },
  steps: {
    type: "integer",
    minimum: 1,
    description: "Tool calls, and for the built-in agent also requests to the model.",
  },
  time: {
    type: "integer",
    minimum: 1,
    description:
      "Seconds in which turns run. Time in which a person is asked or a turn is queued does not count.",
  },
} as const;

/** The settings of sessions in a configuration file. */
export const SESSION_SCHEMAS = {
  SessionSettings: {
    description: "Sessions: what they may use, their work trees, and when they are closed.",
    type: "object",
    additionalProperties: false,
    "x-project": false,
    properties: {
      budget: {
        type: "object",
        additionalProperties: false,
        description: "What each session may use; no limit if left out.",
        properties: BUDGET,
      },
      dailyBudget: {
        type: "object",
        additionalProperties: false,
        description:
          "What each access token, and you yourself, may use in a day (UTC), unless the token has its " +
          "own limit.",
        properties: BUDGET,
      },
      concurrent: {
        type: "integer",
        minimum: 1,
        description:
          "Sessions that each access token, and you yourself, may have open at once; no limit if left " +
          "out.",
      },
      idle: {
        type: "integer",
        minimum: 1,
        maximum: 604_800,
        default: 1_800,
        description:
          "Seconds without a client and without a turn after which a session is closed. It can be " +
          "opened again.",
      },
      worktree: {
        type: "object",
        additionalProperties: false,
        description: "Sessions with a work tree of their own (`--worktree`).",
        properties: {
          carry: {
            type: "array",
            items: { type: "string", minLength: 1 },
            default: [],
            description:
              "Ignored files that each work tree gets a copy of, such as `.env` or `node_modules`: " +
              "patterns as in .gitignore. A file `.worktreeinclude` in the repository adds to them.",
          },
        },
      },
      foreign: {
        enum: ["owner", "all", "off"],
        default: "owner",
        description:
          "Who may list and continue sessions that other agents began themselves: you, also the " +
          "holders of access tokens, or nobody.",
      },
      permissions: {
        enum: ["first", "asker", "owner"],
        default: "first",
        description:
          "Whose answer counts when an agent asks for permission or asks a question: `first`, that of " +
          "the first client that answers; `asker`, that of the client whose prompt caused it; `owner`, " +
          "yours, whoever prompted.",
      },
    },
  },
} as const;

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
    description: "Sessions: what they may use, and when they are closed.",
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

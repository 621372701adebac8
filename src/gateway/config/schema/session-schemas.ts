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
    description: "Tool calls; of the built-in agent, also requests to the model.",
  },
  time: {
    type: "integer",
    minimum: 1,
    description:
      "Seconds in which turns run, without those in which a person is asked or a turn is queued.",
  },
} as const;

/** Conversations with agents, as it is written in a configuration file. */
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
        description: "What each session may use; not limited where it is left out.",
        properties: BUDGET,
      },
      dailyBudget: {
        type: "object",
        additionalProperties: false,
        description:
          "What each access token, and you yourself, may use in a day (UTC), unless the token has " +
          "a limit of its own.",
        properties: BUDGET,
      },
      concurrent: {
        type: "integer",
        minimum: 1,
        description:
          "Sessions that each access token, and you yourself, may have open at once; not limited " +
          "where it is left out.",
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
    },
  },
} as const;

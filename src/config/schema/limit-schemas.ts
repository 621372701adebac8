import { LIMIT_TABLE } from "../../base/limit/limit-table.ts";

/** Limits, as they are written in a configuration file. */
export const LIMIT_SCHEMAS = {
  LimitSettings: {
    description: "Limits that prevent one peer from using all resources.",
    type: "object",
    additionalProperties: false,
    properties: {
      ...numbers(),
      messages: {
        type: "object",
        additionalProperties: { $ref: "#MessageLimit" },
        default: {},
        description: "Limits of single messages, by method or by prefix such as `fs/*`.",
      },
    },
  },

  MessageLimit: {
    description: "Limits of one kind of message.",
    type: "object",
    additionalProperties: false,
    properties: {
      maxSize: { type: "integer", minimum: 1, description: "Bytes of the whole message." },
      timeout: {
        type: "integer",
        minimum: 1,
        maximum: 2_147_483_647,
        description: "Milliseconds without progress.",
      },
      rate: {
        description: "Calls in a window of time.",
        type: "object",
        additionalProperties: false,
        required: ["limit", "windowMs"],
        properties: {
          limit: {
            type: "integer",
            minimum: 1,
            maximum: 1_000_000,
            description: "Calls that are allowed in a window.",
          },
          windowMs: {
            type: "integer",
            minimum: 1,
            description: "Length of the window in milliseconds.",
          },
        },
      },
    },
  },
} as const;

interface NumberSchema {
  readonly type: "integer";
  readonly minimum: number;
  readonly maximum: number;
  readonly default: number;
  readonly description: string;
}

function numbers(): Readonly<Record<string, NumberSchema>> {
  const schemas = Object.entries(LIMIT_TABLE).map(([key, limit]) => {
    const { minimum, maximum, default: fallback, bounds } = limit;
    const range = { type: "integer", minimum, maximum, default: fallback } as const;
    return [key, { ...range, description: bounds }] as const;
  });
  return Object.fromEntries(schemas);
}

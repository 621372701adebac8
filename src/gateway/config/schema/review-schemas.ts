/** Review comments, as it is written in a configuration file. */
export const REVIEW_SCHEMAS = {
  ReviewSettings: {
    description: "Review comments and how agents get them.",
    type: "object",
    additionalProperties: false,
    properties: {
      batch: {
        type: "integer",
        minimum: 1,
        maximum: 1_000,
        default: 10,
        description:
          "Comments in one answer of `check_lazygit_messages` and `lazygit://messages`; the others " +
          "follow in the next.",
      },
      first: {
        enum: ["newest", "oldest"],
        default: "newest",
        description: "Which comments come first where there are more than that.",
      },
      lease: {
        type: "integer",
        minimum: 1,
        maximum: 86_400,
        default: 900,
        description: "Seconds that an agent keeps a thread it has claimed without a sign of life.",
      },
      dropFiles: {
        type: "boolean",
        default: true,
        description:
          "Whether comments are taken in that lazygit-mcp-bridge and others leave in " +
          "`jesseduffield/lazygit/mcp-messages.json` of the configuration folder, or in " +
          "`review-inbox` of the data folder.",
      },
    },
  },
} as const;

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
        description: "Which comments come first if there are more than `batch`.",
      },
      lease: {
        type: "integer",
        minimum: 1,
        maximum: 86_400,
        default: 900,
        description:
          "Seconds after which an agent without activity loses a thread that it has claimed.",
      },
      dropFiles: {
        type: "boolean",
        default: true,
        description:
          "Whether to import comments that lazygit-mcp-bridge and other programs write to " +
          "`jesseduffield/lazygit/mcp-messages.json` of the configuration folder, or to " +
          "`review-inbox` of the data folder.",
      },
    },
  },
} as const;

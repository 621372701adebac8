import * as s from "../base/capability/settings.ts";

/** Reviews: comments on lines of code. */
export const review = {
  name: "review",
  settings: {
    review: s.shape("ReviewSettings", "Review comments and how agents get them.", {
      batch: s.integer(
        "Comments in one answer of `check_lazygit_messages` and `lazygit://messages`; the " +
          "others follow in the next.",
        { minimum: 1, maximum: 1000, default: 10 },
      ),
      first: s.choice(
        ["newest", "oldest"],
        "Which comments come first if there are more than `batch`.",
        { default: "newest" },
      ),
      lease: s.integer(
        "Seconds after which an agent without activity loses a thread that it has claimed.",
        { minimum: 1, maximum: 86_400, default: 900 },
      ),
      dropFiles: s.flag(
        "Whether to import comments that lazygit-mcp-bridge and other programs write to " +
          "`jesseduffield/lazygit/mcp-messages.json` of the configuration folder, or to " +
          "`review-inbox` of the data folder.",
        { default: true },
      ),
    }),
  },
} satisfies s.SettingsSchema;

import { arg, type Command, commandsIn, text } from "../shell/command.ts";

export const audit: Command = {
  name: "audit",
  summary: "Search the record of tool calls and permissions, and check that nobody changed it",
  description:
    "Every call is a line of `audit/audit.ndjson` in the data folder. Each process that writes there seals its " +
    "lines as it writes them, by a hash of all that it has written so far.",
  examples: {
    "trunkline audit search git push": "Show calls that contain these words.",
    "trunkline audit verify": "Compare all entries with their seals.",
  },
  commands: commandsIn(() => import("./audit.ts"), {
    search: {
      summary: "Show entries that contain all words, the newest first",
      args: [arg("[WORD...]", "Word of the entry, in any case; without one, all are shown")],
      options: {
        limit: text("N", "How many entries to show", { default: "20" }),
      },
      examples: {
        "trunkline audit search refused": "Calls that were not allowed.",
        "trunkline audit search review_claim --limit 5 --json": "Whole entries, as JSON.",
      },
    },
    verify: {
      summary: "Check that no entry was changed, removed or added",
      description:
        "Entries that no seal confirms are counted, and reported if they are of this machine. " +
        "Whoever can write to the file can also remove a writer's entries together with its seals; " +
        "`audit.anchor` in the configuration keeps the seals elsewhere, and finds that.",
      options: {
        anchor: text("FILE", "File with seals; default: `audit.anchor` of the configuration"),
      },
      examples: { "trunkline audit verify": "Exits with 1 if something does not match." },
    },
  }),
};

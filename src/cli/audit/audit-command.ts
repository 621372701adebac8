import { type Command, json } from "../shell/command.ts";

export const audit: Command = {
  name: "audit",
  summary: "Search the record of tool calls and permissions, and check that nobody changed it",
  description:
    "Every call is a line of `audit/audit.ndjson` in the data folder. Each process that writes there seals its " +
    "lines within a second, by a hash of all that it has written so far.",
  examples: [
    { run: "trunkline audit search git push", explains: "Show calls that contain these words." },
    { run: "trunkline audit verify", explains: "Compare all entries with their seals." },
  ],
  commands: [
    {
      name: "search",
      summary: "Show entries that contain all words, the newest first",
      args: [
        {
          name: "WORD",
          describe: "Word of the entry, in any case; without one, all are shown",
          optional: true,
          variadic: true,
        },
      ],
      options: {
        limit: {
          type: "string",
          value: "N",
          describe: "How many entries to show",
          default: "20",
        },
        json,
      },
      examples: [
        { run: "trunkline audit search refused", explains: "Calls that were not allowed." },
        {
          run: "trunkline audit search review_claim --limit 5 --json",
          explains: "Whole entries, as JSON.",
        },
      ],
      load: async () => ({ run: (await import("./search.ts")).search }),
    },
    {
      name: "verify",
      summary: "Check that no entry was changed, removed or added",
      description:
        "Entries that a killed process had not sealed yet are counted, and so are those of a process that " +
        "runs. Whoever can write to the file can also remove a writer's entries together with its seals; " +
        "`audit.anchor` in the configuration keeps the seals elsewhere, and finds that.",
      options: {
        anchor: {
          type: "string",
          value: "FILE",
          describe: "File with seals; default: `audit.anchor` of the configuration",
        },
        json,
      },
      examples: [
        { run: "trunkline audit verify", explains: "Exits with 1 if something does not match." },
      ],
      load: async () => ({ run: (await import("./verify.ts")).verify }),
    },
  ],
};

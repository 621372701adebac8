import { type Command, json, type Options } from "../shell/command.ts";

const folder: Options = {
  folder: { type: "string", value: "DIR", describe: "Only those of this folder" },
};

const SESSION = {
  name: "SESSION",
  describe: "The session, or as much of its id as is clear",
} as const;

export const session: Command = {
  name: "session",
  summary: "Look at conversations with agents, and take part in them",
  description:
    "A session is kept from its first word on, and outlives the editor that began it. Nothing has " +
    "to be running to look at one.",
  examples: [
    { run: "trunkline session list", explains: "What there is, the last used first." },
    { run: "trunkline session replay SESSION", explains: "Read what was said." },
  ],
  commands: [
    {
      name: "list",
      summary: "List sessions, the last used first",
      options: { ...folder, json },
      examples: [
        { run: "trunkline session list --folder .", explains: "Those of the current folder." },
      ],
      load: async () => ({ run: (await import("./session.ts")).list }),
    },
    {
      name: "show",
      summary: "Show what is known of a session",
      args: [SESSION],
      options: { json },
      examples: [
        {
          run: "trunkline session show SESSION",
          explains: "Its folder, its agent, its last turn.",
        },
      ],
      load: async () => ({ run: (await import("./session.ts")).show }),
    },
    {
      name: "attach",
      summary: "Take part in a session from the terminal",
      description:
        "Shows what was said and what is being said. Each line that you type is a prompt; where " +
        "the agent asks, the number of an option answers; /cancel calls the turn off. The end of " +
        "input ends it; the session stays.\n\n" +
        "A session that a gateway has open is joined there with --url. A gateway of the same data " +
        "folder lets you in by itself; for another, set TRUNKLINE_TOKEN.",
      args: [SESSION],
      options: {
        url: {
          type: "string",
          value: "URL",
          describe: "The gateway's address for ACP, such as ws://127.0.0.1:4180/acp",
        },
      },
      examples: [
        { run: "trunkline session attach SESSION", explains: "Go on where an editor left off." },
        {
          run: "trunkline session attach SESSION --url ws://127.0.0.1:4180/acp",
          explains: "Join others at a session of a gateway.",
        },
      ],
      load: async () => ({ run: (await import("./attach.ts")).attach }),
    },
    {
      name: "replay",
      summary: "Print what was said in a session",
      args: [SESSION],
      options: {
        after: {
          type: "string",
          value: "NUMBER",
          describe: "Begin after the event of this number",
        },
        json: { type: "boolean", describe: "Print the events, a line of JSON each" },
      },
      examples: [
        { run: "trunkline session replay SESSION", explains: "As a person reads it." },
        {
          run: "trunkline session replay SESSION --json --after NUMBER",
          explains: "The newer events.",
        },
      ],
      load: async () => ({ run: (await import("./session.ts")).replay }),
    },
    {
      name: "export",
      summary: "Write a whole session to standard output",
      args: [SESSION],
      options: {
        format: {
          type: "string",
          value: "FORMAT",
          describe: "As what",
          choices: ["json", "markdown"],
          default: "json",
        },
        json: { type: "boolean", describe: "Print JSON, which it does unless --format is given" },
      },
      examples: [
        {
          run: "trunkline session export SESSION --format markdown > talk.md",
          explains: "Keep it as a text.",
        },
      ],
      load: async () => ({ run: (await import("./session.ts")).exportSession }),
    },
    {
      name: "delete",
      summary: "Forget what was said in sessions",
      args: [{ ...SESSION, variadic: true }],
      options: { json },
      examples: [{ run: "trunkline session delete SESSION", explains: "It cannot be undone." }],
      load: async () => ({ run: (await import("./session.ts")).remove }),
    },
    {
      name: "permissions",
      summary: "List what agents may always or never do, and revoke it",
      options: {
        ...folder,
        revoke: { type: "string", value: "NUMBER", describe: "Have agents ask again" },
        json,
      },
      examples: [
        { run: "trunkline session permissions", explains: "What was said once and for all." },
        { run: "trunkline session permissions --revoke NUMBER", explains: "Take one back." },
      ],
      load: async () => ({ run: (await import("./session.ts")).permissions }),
    },
  ],
};

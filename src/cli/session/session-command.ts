import { type Command, json, type Options } from "../shell/command.ts";

const folder: Options = {
  folder: { type: "string", value: "DIR", describe: "Only those of this folder" },
};

const SESSION = {
  name: "SESSION",
  describe: "Id of the session, or a unique beginning of it",
} as const;

export const session: Command = {
  name: "session",
  summary: "Show conversations with agents, and join them",
  description:
    "A session is stored from its first prompt on, and outlives the editor that started it. No " +
    "server has to be running to read one.",
  examples: [
    { run: "trunkline session list", explains: "Show all sessions, the last used first." },
    { run: "trunkline session replay SESSION", explains: "Read a conversation." },
  ],
  commands: [
    {
      name: "list",
      summary: "List sessions, the last used first",
      description:
        "With --agent or --all-agents, also those that agents began themselves, in a terminal for " +
        "example. The agents are started and asked for them.",
      options: {
        ...folder,
        agent: {
          type: "string",
          value: "NAME",
          multiple: true,
          describe: "Also the sessions that this agent began itself; may be repeated",
        },
        "all-agents": {
          type: "boolean",
          describe: "Also the sessions that any configured agent began itself",
        },
        json,
      },
      examples: [
        {
          run: "trunkline session list --folder .",
          explains: "Show the sessions of the current folder.",
        },
        {
          run: "trunkline session list --all-agents",
          explains: "Show also what you did with other agents without Trunkline.",
        },
      ],
      load: async () => ({ run: (await import("./session.ts")).list }),
    },
    {
      name: "show",
      summary: "Show the details of a session",
      args: [SESSION],
      options: { json },
      examples: [
        {
          run: "trunkline session show SESSION",
          explains: "Shows its folder, its agent and its last turn.",
        },
      ],
      load: async () => ({ run: (await import("./session.ts")).show }),
    },
    {
      name: "attach",
      summary: "Join a session from the terminal",
      description:
        "Shows the conversation so far and what follows. Each line that you type is a prompt. When " +
        "the agent asks for permission, type the number of an option; /cancel cancels the turn. " +
        "Ctrl-D leaves; the session stays.\n\n" +
        "If a gateway has the session open, join it there with --url. For a gateway with another " +
        "data folder, set TRUNKLINE_TOKEN.",
      args: [SESSION],
      options: {
        url: {
          type: "string",
          value: "URL",
          describe: "ACP address of a gateway, such as ws://127.0.0.1:4180/acp",
        },
        observe: {
          type: "boolean",
          describe: "Watch it, without taking part: you cannot prompt, cancel or answer",
        },
      },
      examples: [
        { run: "trunkline session attach SESSION", explains: "Continue a session of an editor." },
        {
          run: "trunkline session attach SESSION --url ws://127.0.0.1:4180/acp",
          explains: "Join a session that a gateway has open.",
        },
        { run: "trunkline session attach SESSION --observe", explains: "Watch a session." },
      ],
      load: async () => ({ run: (await import("./attach.ts")).attach }),
    },
    {
      name: "replay",
      summary: "Print the conversation of a session",
      args: [SESSION],
      options: {
        after: {
          type: "string",
          value: "NUMBER",
          describe: "Start after the event with this number",
        },
        json: { type: "boolean", describe: "Print the events as lines of JSON" },
      },
      examples: [
        { run: "trunkline session replay SESSION", explains: "Print it as text." },
        {
          run: "trunkline session replay SESSION --json --after NUMBER",
          explains: "Print newer events only.",
        },
      ],
      load: async () => ({ run: (await import("./session.ts")).replay }),
    },
    {
      name: "export",
      summary: "Print a whole session as JSON or Markdown",
      args: [SESSION],
      options: {
        patch: {
          type: "boolean",
          describe: "Print what a remote run has changed, for `git apply`, instead of the session",
        },
        format: {
          type: "string",
          value: "FORMAT",
          describe: "Output format",
          choices: ["json", "markdown"],
          default: "json",
        },
        json: { type: "boolean", describe: "Print JSON, which is the default" },
      },
      examples: [
        {
          run: "trunkline session export SESSION --patch | git apply",
          explains: "Take over the changes of a run that could not be pushed.",
        },
        {
          run: "trunkline session export SESSION --format markdown > talk.md",
          explains: "Save it as Markdown.",
        },
      ],
      load: async () => ({ run: (await import("./session.ts")).exportSession }),
    },
    {
      name: "import",
      summary: "Take over a session that an agent began itself",
      description:
        "The agent loads the session, and what it replays is stored as ours. From then on it is a " +
        "session like any other. While another program has the session open, both would write to " +
        "it; if such a program is found, nothing is done unless --force is given.",
      args: [{ name: "SESSION", describe: "The agent's id of the session" }],
      options: {
        agent: { type: "string", value: "NAME", describe: "The agent that began the session" },
        folder: {
          type: "string",
          value: "DIR",
          describe: "Folder of the session, instead of the one that the agent's list has",
        },
        force: { type: "boolean", describe: "Take it over even if it seems to be open elsewhere" },
        json,
      },
      examples: [
        {
          run: "trunkline session import SESSION --agent claude",
          explains: "Continue a conversation that began in a terminal.",
        },
      ],
      load: async () => ({ run: (await import("./foreign.ts")).importSession }),
    },
    {
      name: "land",
      summary: "Bring the work of a session with a work tree to a branch",
      description:
        "Uncommitted files are committed first. Then the session's branch is merged into the branch " +
        "that it started from. If that has conflicts, nothing changes, and the message says which " +
        "files have them. The session can go on afterwards.",
      args: [SESSION],
      options: {
        merge: { type: "boolean", describe: "Merge it, which is the default" },
        squash: { type: "boolean", describe: "Add it as one commit" },
        branch: {
          type: "string",
          value: "NAME",
          describe: "Leave it as a branch of this name, and merge nothing",
        },
        into: {
          type: "string",
          value: "BRANCH",
          describe: "Branch that gets the work, instead of the one that the session started from",
        },
        "run-changed": {
          type: "boolean",
          describe:
            "Run hooks, filters and drivers although they have changed since the session began",
        },
        json,
      },
      examples: [
        {
          run: "trunkline session land SESSION",
          explains: "Merge it into the branch that it started from.",
        },
        { run: "trunkline session land SESSION --squash", explains: "Add it as one commit." },
        {
          run: "trunkline session land SESSION --branch parser",
          explains: "Leave it as a branch, for a pull request for example.",
        },
      ],
      load: async () => ({ run: (await import("./land.ts")).land }),
    },
    {
      name: "delete",
      summary: "Delete sessions",
      description:
        "The work tree of a session goes with it. Work that is not in another branch stays on a " +
        "branch, whose name is printed. Files that git ignores are deleted.",
      args: [{ ...SESSION, variadic: true }],
      options: { json },
      examples: [
        { run: "trunkline session delete SESSION", explains: "Deletes it; this cannot be undone." },
      ],
      load: async () => ({ run: (await import("./session.ts")).remove }),
    },
    {
      name: "permissions",
      summary: "List or revoke permissions that agents have for good",
      options: {
        ...folder,
        revoke: {
          type: "string",
          value: "NUMBER",
          describe: "Revoke this permission, so that agents ask again",
        },
        json,
      },
      examples: [
        {
          run: "trunkline session permissions",
          explains: "List what you always allowed or always rejected.",
        },
        { run: "trunkline session permissions --revoke NUMBER", explains: "Revoke one." },
      ],
      load: async () => ({ run: (await import("./session.ts")).permissions }),
    },
  ],
};

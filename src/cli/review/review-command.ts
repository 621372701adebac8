import { type Command, json, type Options } from "../shell/command.ts";

const repo: Options = {
  repo: {
    type: "string",
    value: "DIR",
    describe: "A folder of the repository, instead of the current one",
  },
};

const comment: Options = {
  comment: {
    type: "string",
    value: "TEXT",
    short: "c",
    describe: "What to say; - reads standard input, without it an editor opens",
  },
};

const ID = { name: "ID", describe: "The thread, or as much of its id as is clear" } as const;

export const review: Command = {
  name: "review",
  summary: "Comment on lines of code, and follow what becomes of it",
  description:
    "A comment opens a thread. Agents get it over MCP, answer it or propose a change; you resolve " +
    "it. Nothing has to be running to write one, and what is running hears of it at once.",
  examples: [
    {
      run: "trunkline review add --file src/main.go --line 42 --comment 'Handle the error'",
      explains: "Leave a comment.",
    },
    { run: "trunkline review list", explains: "What is not resolved in this repository." },
  ],
  commands: [
    {
      name: "add",
      summary: "Comment on a line, on several, or on a whole file",
      options: {
        file: { type: "string", value: "FILE", short: "f", describe: "The file" },
        line: {
          type: "string",
          value: "N",
          short: "l",
          describe: "The line; without it the comment is on the file. -N is one that was removed",
        },
        end: { type: "string", value: "M", describe: "The last of several lines" },
        side: {
          type: "string",
          value: "SIDE",
          describe: "Whether the line is one of the file as it is, or as it was",
          choices: ["new", "old"],
          default: "new",
        },
        base: {
          type: "string",
          value: "COMMIT",
          describe: "With the old side: the commit it is from, instead of HEAD",
        },
        severity: {
          type: "string",
          value: "SEVERITY",
          short: "s",
          describe: "How much it matters",
          choices: ["must", "should", "nit", "question"],
          default: "should",
        },
        suggest: {
          type: "string",
          value: "FILE",
          describe: "Lines to put there instead; - reads them from standard input",
        },
        ...comment,
        ...repo,
        json,
      },
      examples: [
        {
          run: "trunkline review add --file src/main.go --line 42 --end 45 --severity must -c 'Leaks'",
          explains: "On several lines.",
        },
        { run: "trunkline review add --file README.md", explains: "In an editor." },
        {
          run: "git diff | trunkline review add --file x.c --line 3 -c 'So?' --suggest -",
          explains: "With lines to put there instead.",
        },
      ],
      load: async () => ({ run: (await import("./add.ts")).add }),
    },
    {
      name: "list",
      summary: "List threads, with where they are in the code now",
      options: {
        state: {
          type: "string",
          value: "STATE",
          multiple: true,
          describe: "Only these, instead of all that are not resolved",
          choices: ["open", "claimed", "answered", "proposed", "resolved", "reopened"],
        },
        all: { type: "boolean", describe: "Resolved ones too" },
        everywhere: { type: "boolean", describe: "Of all repositories" },
        file: { type: "string", value: "FILE", describe: "Only of this file" },
        menu: { type: "boolean", describe: "A line for each, as ID:text, for menus" },
        ...repo,
        json,
      },
      examples: [
        { run: "trunkline review list", explains: "A line for each." },
        { run: "trunkline review list --state proposed --json", explains: "What waits for you." },
      ],
      load: async () => ({ run: (await import("./list.ts")).list }),
    },
    {
      name: "show",
      summary: "Show a thread, with all that was said",
      args: [ID],
      options: {
        patch: { type: "boolean", describe: "Print only its suggestion, as a patch" },
        ...repo,
        json,
      },
      examples: [
        { run: "trunkline review show r7k2mq", explains: "All of it." },
        {
          run: "trunkline review show r7k2mq --patch | git apply",
          explains: "Apply what it suggests.",
        },
      ],
      load: async () => ({ run: (await import("./list.ts")).show }),
    },
    {
      name: "reply",
      summary: "Say something on a thread",
      description: "One that had been answered is open again then.",
      args: [ID],
      options: { ...comment, ...repo, json },
      examples: [{ run: "trunkline review reply r7k2mq -c 'Which one?'", explains: "In a line." }],
      load: async () => ({ run: (await import("./reply.ts")).reply }),
    },
    {
      name: "resolve",
      summary: "Close threads that are done",
      args: [{ ...ID, variadic: true }],
      options: {
        comment: { type: "string", value: "TEXT", short: "c", describe: "What to say" },
        ...repo,
        json,
      },
      examples: [{ run: "trunkline review resolve r7k2mq", explains: "It is done." }],
      load: async () => ({ run: (await import("./reply.ts")).resolve }),
    },
    {
      name: "reopen",
      summary: "Open a thread again",
      args: [ID],
      options: {
        comment: { type: "string", value: "TEXT", short: "c", describe: "What to say" },
        ...repo,
        json,
      },
      examples: [
        { run: "trunkline review reopen r7k2mq -c 'Not yet'", explains: "It is not done." },
      ],
      load: async () => ({ run: (await import("./reply.ts")).reopen }),
    },
    {
      name: "apply",
      summary: "Put the lines that a comment suggests where they belong now",
      description: "Refuses, with the reason, where the lines that they are for have changed.",
      args: [ID],
      options: { ...repo, json },
      examples: [{ run: "trunkline review apply r7k2mq", explains: "Change the file." }],
      load: async () => ({ run: (await import("./reply.ts")).apply }),
    },
    {
      name: "lines",
      summary: "List the lines around what has changed in a file, for menus",
      description: "Each as N:text, where -N is a line that was removed.",
      args: [{ name: "FILE", describe: "The file" }],
      options: { ...repo, json },
      examples: [{ run: "trunkline review lines src/main.go", explains: "A line for each." }],
      load: async () => ({ run: (await import("./list.ts")).lines }),
    },
    {
      name: "watch",
      summary: "Print what happens to threads, as it happens",
      options: { ...repo, json },
      examples: [{ run: "trunkline review watch", explains: "Until Ctrl-C." }],
      load: async () => ({ run: (await import("./transfer.ts")).watch }),
    },
    {
      name: "import",
      summary: "Take in threads of another machine, or what an analyser reports",
      description: "Reads what `trunkline review export` writes, and SARIF 2.1.0 of any program.",
      args: [{ name: "FILE", describe: "The file; - is standard input" }],
      options: { ...repo, json },
      examples: [{ run: "trunkline review import eslint.sarif", explains: "Each finding once." }],
      load: async () => ({ run: (await import("./transfer.ts")).importFile }),
    },
    {
      name: "export",
      summary: "Print the threads of a repository as JSON or SARIF",
      options: {
        format: {
          type: "string",
          value: "FORMAT",
          describe: "What to print",
          choices: ["json", "sarif"],
          default: "json",
        },
        ...repo,
        json: { type: "boolean", describe: "Print JSON, which it does anyway" },
      },
      examples: [
        { run: "trunkline review export > threads.json", explains: "With all that was said." },
        { run: "trunkline review export --format sarif", explains: "For code hosts and editors." },
      ],
      load: async () => ({ run: (await import("./transfer.ts")).exportAll }),
    },
  ],
};

export const setup: Command = {
  name: "setup",
  summary: "Make other programs know Trunkline",
  examples: [
    { run: "trunkline setup lazygit", explains: "Comment on code while reading it in lazygit." },
  ],
  commands: [
    {
      name: "lazygit",
      summary: "Add commands to lazygit that comment on lines and follow threads",
      description:
        "Y comments on a line of the selected file, Ctrl-Y shows the threads and resolves them. " +
        "Writes .git/lazygit.yml of the repository, or your own configuration with --user; what is " +
        "there stays as it is. Doing it again changes nothing.",
      options: {
        user: { type: "boolean", describe: "In your own configuration, for all repositories" },
        remove: { type: "boolean", describe: "Take the commands out again" },
        repo: {
          type: "string",
          value: "DIR",
          describe: "A folder of the repository, instead of the current one",
        },
        json,
      },
      examples: [
        { run: "trunkline setup lazygit", explains: "In this repository." },
        { run: "trunkline setup lazygit --user", explains: "In all of them." },
        { run: "trunkline setup lazygit --remove", explains: "As if it had never been." },
      ],
      load: async () => ({ run: (await import("./setup-lazygit.ts")).setupLazygit }),
    },
  ],
};

import { type Command, json, type Options, type OptionSpec } from "../shell/command.ts";

const repo: Options = {
  repo: {
    type: "string",
    value: "DIR",
    describe: "A folder of the repository, instead of the current one",
  },
};

const forge: Options = {
  github: {
    type: "string",
    value: "PR",
    describe: "A pull request: OWNER/REPO#12, its address, or 12 for this repository's remote",
  },
  gitlab: {
    type: "string",
    value: "MR",
    describe: "A merge request: GROUP/PROJECT!12, its address, or 12 for this repository's remote",
  },
  identity: {
    type: "string",
    value: "NAME",
    describe: "The identity whose token to use, instead of the one that fits",
  },
};

const commit: Options = {
  commit: {
    type: "string",
    value: "COMMIT",
    describe: "Lines as this commit has them, instead of the work tree",
  },
};

/** Menus pass on the text that a person may have left empty. */
const addition: OptionSpec = {
  type: "string",
  value: "TEXT",
  short: "c",
  describe: "Text to add",
  mayBeEmpty: true,
};
const comment: Options = {
  comment: {
    type: "string",
    value: "TEXT",
    short: "c",
    describe: "Text; - reads standard input; without this option an editor opens",
  },
};

const ID = { name: "ID", describe: "Id of the thread, or a unique beginning of it" } as const;

export const review: Command = {
  name: "review",
  summary: "Comment on lines of code, and follow the replies",
  description:
    "A comment opens a thread. Agents read it over MCP, reply or propose a change; you resolve it. " +
    "No server has to be running to write a comment; servers that are running see it at once.",
  examples: [
    {
      run: "trunkline review add --file src/main.go --line 42 --comment 'Handle the error'",
      explains: "Add a comment.",
    },
    { run: "trunkline review list", explains: "Show unresolved threads of this repository." },
  ],
  commands: [
    {
      name: "add",
      summary: "Comment on a line, a range of lines or a whole file",
      options: {
        file: { type: "string", value: "FILE", short: "f", describe: "The file" },
        ...commit,
        line: {
          type: "string",
          value: "N",
          short: "l",
          describe:
            "Line number; -N is a removed line; without it the comment is on the whole file",
        },
        end: { type: "string", value: "M", describe: "Last line of a range" },
        side: {
          type: "string",
          value: "SIDE",
          describe: "Whether the line number is in the new or the old version of the file",
          choices: ["new", "old"],
          default: "new",
        },
        base: {
          type: "string",
          value: "COMMIT",
          describe: "With --side old: the commit of the old version, instead of HEAD",
        },
        severity: {
          type: "string",
          value: "SEVERITY",
          short: "s",
          describe: "How important it is",
          choices: ["must", "should", "nit", "question"],
          default: "should",
        },
        suggest: {
          type: "string",
          value: "FILE",
          describe: "File with replacement lines; - reads them from standard input",
        },
        ...comment,
        ...repo,
        json,
      },
      examples: [
        {
          run: "trunkline review add --file src/main.go --line 42 --end 45 --severity must -c 'Leaks'",
          explains: "Comment on a range of lines.",
        },
        {
          run: "trunkline review add --file README.md",
          explains: "Write the comment in an editor.",
        },
        {
          run: "git diff | trunkline review add --file x.c --line 3 -c 'So?' --suggest -",
          explains: "Suggest replacement lines.",
        },
      ],
      load: async () => ({ run: (await import("./add.ts")).add }),
    },
    {
      name: "list",
      summary: "List threads with their current position in the code",
      options: {
        state: {
          type: "string",
          value: "STATE",
          multiple: true,
          describe: "Only threads in this state, instead of all unresolved ones; may be repeated",
          choices: ["open", "claimed", "answered", "proposed", "resolved", "reopened"],
        },
        all: { type: "boolean", describe: "Include resolved threads" },
        everywhere: { type: "boolean", describe: "Threads of all repositories" },
        file: { type: "string", value: "FILE", describe: "Only threads on this file" },
        menu: { type: "boolean", describe: "Print ID:text lines, for menus" },
        ...repo,
        json,
      },
      examples: [
        { run: "trunkline review list", explains: "One line per thread." },
        {
          run: "trunkline review list --state proposed --json",
          explains: "Show proposed changes that wait for you.",
        },
      ],
      load: async () => ({ run: (await import("./list.ts")).list, leavesNothing: true }),
    },
    {
      name: "show",
      summary: "Show a thread with all replies",
      args: [ID],
      options: {
        patch: { type: "boolean", describe: "Print only the suggested change, as a patch" },
        ...repo,
        json,
      },
      examples: [
        { run: "trunkline review show r7k2mq", explains: "Show the whole thread." },
        {
          run: "trunkline review show r7k2mq --patch | git apply",
          explains: "Apply the suggested change.",
        },
      ],
      load: async () => ({ run: (await import("./list.ts")).show }),
    },
    {
      name: "reply",
      summary: "Reply to a thread",
      description: "A reply reopens a thread that was answered.",
      args: [ID],
      options: { ...comment, ...repo, json },
      examples: [
        { run: "trunkline review reply r7k2mq -c 'Which one?'", explains: "Reply with one line." },
      ],
      load: async () => ({ run: (await import("./reply.ts")).reply }),
    },
    {
      name: "resolve",
      summary: "Mark threads as resolved",
      args: [{ ...ID, variadic: true }],
      options: {
        comment: addition,
        ...repo,
        json,
      },
      examples: [{ run: "trunkline review resolve r7k2mq", explains: "Resolve it." }],
      load: async () => ({ run: (await import("./reply.ts")).resolve }),
    },
    {
      name: "reopen",
      summary: "Reopen a thread",
      args: [ID],
      options: {
        comment: addition,
        ...repo,
        json,
      },
      examples: [
        {
          run: "trunkline review reopen r7k2mq -c 'Not yet'",
          explains: "Reopen it with a comment.",
        },
      ],
      load: async () => ({ run: (await import("./reply.ts")).reopen }),
    },
    {
      name: "apply",
      summary: "Apply the suggested change of a thread to the file, and resolve it",
      description: "Refuses if the commented lines have changed, and says why.",
      args: [ID],
      options: { ...repo, json },
      examples: [{ run: "trunkline review apply r7k2mq", explains: "Change the file." }],
      load: async () => ({ run: (await import("./reply.ts")).apply }),
    },
    {
      name: "lines",
      summary: "List the lines around the changes in a file, for menus",
      description: "Prints N:text lines; -N is a removed line.",
      args: [{ name: "FILE", describe: "The file" }],
      options: { ...commit, ...repo, json },
      examples: [{ run: "trunkline review lines src/main.go", explains: "List them." }],
      load: async () => ({ run: (await import("./list.ts")).lines }),
    },
    {
      name: "watch",
      summary: "Print changes of threads as they happen",
      options: { ...repo, json },
      examples: [{ run: "trunkline review watch", explains: "Runs until Ctrl-C." }],
      load: async () => ({ run: (await import("./transfer.ts")).watch }),
    },
    {
      name: "import",
      summary: "Import threads of a pull request, from another machine, or findings of an analyser",
      description:
        "Reads a pull request of GitHub or a merge request of GitLab with the token of the identity " +
        "that fits; or a file: the output of `trunkline review export`, SARIF 2.1.0, or JSON of " +
        "GitHub's or GitLab's API. Importing again adds what is new.",
      args: [
        {
          name: "FILE",
          describe: "The file, or the address of a pull request; - reads standard input",
          optional: true,
        },
      ],
      options: {
        ...forge,
        file: { type: "string", value: "FILE", describe: "The same as FILE" },
        ...repo,
        json,
      },
      examples: [
        {
          run: "trunkline review import eslint.sarif",
          explains: "Open a thread for each new finding.",
        },
        {
          run: "trunkline review import --github octocat/hello#12",
          explains: "Work on the threads of a pull request here.",
        },
        {
          run: "trunkline review import --gitlab 12",
          explains: "Those of merge request 12 of this repository's remote.",
        },
      ],
      load: async () => ({ run: (await import("./transfer.ts")).importFile }),
    },
    {
      name: "export",
      summary: "Print the threads of a repository as JSON or SARIF, or answer a pull request",
      description:
        "With --github or --gitlab, posts what was said here on threads that were imported from " +
        "there, and resolves there what was resolved here.",
      options: {
        ...forge,
        "dry-run": { type: "boolean", describe: "Print what would be posted, and post nothing" },
        format: {
          type: "string",
          value: "FORMAT",
          describe: "Output format",
          choices: ["json", "sarif"],
          default: "json",
        },
        ...repo,
        json: { type: "boolean", describe: "Accepted; the output is always JSON" },
      },
      examples: [
        { run: "trunkline review export > threads.json", explains: "Includes all replies." },
        {
          run: "trunkline review export --format sarif",
          explains: "For code hosts and editors that read SARIF.",
        },
        {
          run: "trunkline review export --github octocat/hello#12 --dry-run",
          explains: "Print the replies that would be posted.",
        },
      ],
      load: async () => ({ run: (await import("./transfer.ts")).exportAll }),
    },
  ],
};

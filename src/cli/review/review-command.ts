import { arg, type Command, commandsIn, flag, type Options, text } from "../shell/command.ts";

const repo: Options = {
  repo: text("DIR", "A folder of the repository, instead of the current one"),
};

const forge: Options = {
  github: text(
    "PR",
    "A pull request: OWNER/REPO#12, its address, or 12 for this repository's remote",
  ),
  gitlab: text(
    "MR",
    "A merge request: GROUP/PROJECT!12, its address, or 12 for this repository's remote",
  ),
  identity: text("NAME", "The identity whose token to use, instead of the one that fits", {
    names: "identity",
  }),
};

const commit: Options = {
  commit: text("COMMIT", "Lines as this commit has them, instead of the work tree"),
};

/** Menus pass on the text that a person may have left empty. */
const addition = text("TEXT", "Text to add", { short: "c", mayBeEmpty: true });
const comment: Options = {
  comment: text("TEXT", "Text; - reads standard input; without this option an editor opens", {
    short: "c",
  }),
};

const signed: Options = {
  as: text("NAME", "Your name, instead of that of your git identity"),
};

const ID = arg("ID", "Id of the thread, or a unique beginning of it");

export const review: Command = {
  name: "review",
  summary: "Comment on lines of code, and follow the replies",
  description:
    "A comment opens a thread. Agents read it over MCP, reply or propose a change; you resolve it. " +
    "No server has to be running to write a comment; servers that are running see it at once.",
  examples: {
    "trunkline review add --file src/main.go --line 42 --comment 'Handle the error'":
      "Add a comment.",
    "trunkline review list": "Show unresolved threads of this repository.",
  },
  commands: commandsIn(() => import("./reply.ts"), {
    add: {
      summary: "Comment on a line, a range of lines or a whole file",
      options: {
        file: text("FILE", "The file", { short: "f" }),
        ...commit,
        line: text(
          "N",
          "Line number; -N is a removed line; without it the comment is on the whole file",
          { short: "l" },
        ),
        end: text("M", "Last line of a range"),
        side: text("SIDE", "Whether the line number is in the new or the old version of the file", {
          choices: ["new", "old"],
          default: "new",
        }),
        base: text("COMMIT", "With --side old: the commit of the old version, instead of HEAD"),
        severity: text("SEVERITY", "How important it is", {
          short: "s",
          choices: ["must", "should", "nit", "question"],
          default: "should",
        }),
        suggest: text("FILE", "File with replacement lines; - reads them from standard input"),
        diff: text(
          "FILE",
          "File with a diff of FILE that is suggested, instead of --line and --suggest; - reads it " +
            "from standard input",
        ),
        ...comment,
        ...signed,
        ...repo,
      },
      examples: {
        "trunkline review add --file src/main.go --line 42 --end 45 --severity must -c 'Leaks'":
          "Comment on a range of lines.",
        "trunkline review add --file README.md": "Write the comment in an editor.",
        "git diff | trunkline review add --file x.c -c 'So?' --diff -":
          "Suggest what you have changed in the file.",
      },
      load: async () => ({ run: (await import("./add.ts")).add }),
    },
    list: {
      summary: "List threads with their current position in the code",
      options: {
        state: text(
          "STATE...",
          "Only threads in this state, instead of all unresolved ones; may be repeated",
          { choices: ["open", "claimed", "answered", "proposed", "resolved", "reopened"] },
        ),
        all: flag("Include resolved threads"),
        everywhere: flag("Threads of all repositories"),
        file: text("FILE", "Only threads on this file"),
        severity: text("SEVERITY...", "Only threads of this severity; may be repeated", {
          choices: ["must", "should", "nit", "question"],
        }),
        format: text("FORMAT", "For editors, code hosts, or the runner of GitHub Actions", {
          choices: ["quickfix", "sarif", "annotations"],
        }),
        "exit-code": flag("Exit with 1 if a thread is listed, as in a hook before a push"),
        menu: flag("Print ID:text lines, for menus"),
        ...repo,
      },
      examples: {
        "trunkline review list": "One line per thread.",
        "trunkline review list --severity must --exit-code": "Fail while something must be done.",
        "trunkline review list --format quickfix": "For `vim -q`, and other lists of places.",
        "trunkline review list --state proposed --json": "Show proposed changes that wait for you.",
      },
      load: async () => ({ run: (await import("./list.ts")).list }),
    },
    show: {
      summary: "Show a thread with all replies",
      args: [ID],
      options: {
        patch: flag("Print only the suggested change, as a patch"),
        ...repo,
      },
      examples: {
        "trunkline review show r7k2mq": "Show the whole thread.",
        "trunkline review show r7k2mq --patch | git apply": "Apply the suggested change.",
      },
      load: async () => ({ run: (await import("./list.ts")).show }),
    },
    reply: {
      summary: "Reply to a thread",
      description: "A reply reopens a thread that was answered.",
      args: [ID],
      options: { ...comment, ...signed, ...repo },
      examples: { "trunkline review reply r7k2mq -c 'Which one?'": "Reply with one line." },
    },
    resolve: {
      summary: "Mark threads as resolved",
      args: [{ ...ID, variadic: true }],
      options: {
        comment: addition,
        ...signed,
        ...repo,
      },
      examples: { "trunkline review resolve r7k2mq": "Resolve it." },
    },
    reopen: {
      summary: "Reopen a thread",
      args: [ID],
      options: {
        comment: addition,
        ...signed,
        ...repo,
      },
      examples: { "trunkline review reopen r7k2mq -c 'Not yet'": "Reopen it with a comment." },
    },
    apply: {
      summary: "Apply the suggested change of a thread to the file, and resolve it",
      description: "Refuses if the commented lines have changed, and says why.",
      args: [ID],
      options: { ...signed, ...repo },
      examples: { "trunkline review apply r7k2mq": "Change the file." },
    },
    lines: {
      isForPrograms: true,
      summary: "List the lines around the changes in a file, for menus",
      description: "Prints N:text lines; -N is a removed line.",
      args: [arg("FILE", "The file")],
      options: { ...commit, ...repo },
      examples: { "trunkline review lines src/main.go": "List them." },
      load: async () => ({ run: (await import("./list.ts")).lines }),
    },
    watch: {
      summary: "Print changes of threads as they happen",
      options: { ...repo },
      examples: { "trunkline review watch": "Runs until Ctrl-C." },
      load: async () => ({ run: (await import("./transfer.ts")).watch }),
    },
    import: {
      summary: "Import threads of a pull request, from another machine, or findings of an analyser",
      description:
        "Reads a pull request of GitHub or a merge request of GitLab with the token of the identity " +
        "that fits; or a file: the output of `trunkline review export`, SARIF 2.1.0, or JSON of " +
        "GitHub's or GitLab's API. Importing again adds what is new.",
      args: [arg("[FILE]", "The file, or the address of a pull request; - reads standard input")],
      options: {
        ...forge,
        file: text("FILE", "The same as FILE"),
        ...repo,
      },
      examples: {
        "trunkline review import eslint.sarif": "Open a thread for each new finding.",
        "trunkline review import --github octocat/hello#12":
          "Work on the threads of a pull request here.",
        "trunkline review import --gitlab 12":
          "Those of merge request 12 of this repository's remote.",
      },
      load: async () => ({ run: (await import("./transfer.ts")).importFile }),
    },
    export: {
      summary: "Print the threads of a repository as JSON or SARIF, or answer a pull request",
      description:
        "With --github or --gitlab, posts what was said here on threads that were imported from " +
        "there, and resolves there what was resolved here. With --new it also posts your own " +
        "unresolved comments, once you have seen them.",
      options: {
        ...forge,
        new: flag("Post your own comments, too, as new threads"),
        ...signed,
        yes: flag("With --new: do not ask", { short: "y" }),
        "dry-run": flag("Print what would be posted, and post nothing"),
        format: text("FORMAT", "Output format", { choices: ["json", "sarif"], default: "json" }),
        ...repo,
        json: flag("Accepted; the output is always JSON"),
      },
      examples: {
        "trunkline review export > threads.json": "Includes all replies.",
        "trunkline review export --format sarif": "For code hosts and editors that read SARIF.",
        "trunkline review export --github octocat/hello#12 --dry-run":
          "Print the replies that would be posted.",
        "trunkline review export --github 12 --new": "Show your own comments, and post them.",
      },
      load: async () => ({ run: (await import("./transfer.ts")).exportAll }),
    },
  }),
};

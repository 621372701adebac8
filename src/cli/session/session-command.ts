import { arg, type Command, commandsIn, flag, type Options, text } from "../shell/command.ts";

const folder: Options = {
  folder: text("DIR", "Only those of this folder"),
};

const SESSION = arg("SESSION", "Id of the session, or a unique beginning of it", {
  names: "session",
});

export const session: Command = {
  name: "session",
  summary: "Show conversations with agents, and join them",
  description:
    "A session is stored from its first prompt on, and outlives the editor that started it. No " +
    "server has to be running to read one.",
  examples: {
    "trunkline session list": "Show all sessions, the last used first.",
    "trunkline session replay SESSION": "Read a conversation.",
  },
  commands: commandsIn(() => import("./session.ts"), {
    list: {
      summary: "List sessions, the last used first",
      description:
        "With --agent or --all-agents, also those that agents began themselves, in a terminal for " +
        "example. The agents are started and asked for them.",
      options: {
        ...folder,
        agent: text("NAME...", "Also the sessions that this agent began itself; may be repeated", {
          names: "agent",
        }),
        "all-agents": flag("Also the sessions that any configured agent began itself"),
      },
      examples: {
        "trunkline session list --folder .": "Show the sessions of the current folder.",
        "trunkline session list --all-agents":
          "Show also what you did with other agents without Trunkline.",
      },
    },
    show: {
      summary: "Show the details of a session",
      args: [SESSION],
      examples: {
        "trunkline session show SESSION": "Shows its folder, its agent and its last turn.",
      },
    },
    attach: {
      printsNoData: true,
      summary: "Join a session from the terminal",
      description:
        "Shows the conversation so far and what follows. Each line that you type is a prompt. When " +
        "the agent asks for permission, type the number of an option; /cancel cancels the turn. " +
        "Ctrl-D leaves; the session stays.\n\n" +
        "If a gateway has the session open, join it there with --url. For a gateway with another " +
        "data folder, set TRUNKLINE_TOKEN.",
      args: [SESSION],
      options: {
        url: text("URL", "ACP address of a gateway, such as ws://127.0.0.1:4180/acp"),
        observe: flag("Watch it, without taking part: you cannot prompt, cancel or answer"),
      },
      examples: {
        "trunkline session attach SESSION": "Continue a session of an editor.",
        "trunkline session attach SESSION --url ws://127.0.0.1:4180/acp":
          "Join a session that a gateway has open.",
        "trunkline session attach SESSION --observe": "Watch a session.",
      },
      load: async () => ({ run: (await import("./attach.ts")).attach }),
    },
    replay: {
      summary: "Print the conversation of a session",
      args: [SESSION],
      options: {
        after: text("NUMBER", "Start after the event with this number"),
        json: flag("Print the events as lines of JSON"),
      },
      examples: {
        "trunkline session replay SESSION": "Print it as text.",
        "trunkline session replay SESSION --json --after NUMBER": "Print newer events only.",
      },
    },
    exportSession: {
      name: "export",
      summary: "Print a whole session as JSON or Markdown",
      args: [SESSION],
      options: {
        bundle: text(
          "FILE",
          "Write everything into a file, for `session import`: conversation, work, undo journal",
        ),
        share: flag("With --bundle: without the work and without secrets, for a bug report"),
        format: text("FORMAT", "Output format", { choices: ["json", "markdown"], default: "json" }),
        json: flag("Print JSON, which is the default"),
      },
      examples: {
        "trunkline session export SESSION --bundle FILE": "Back it up with its work.",
        "trunkline session export SESSION --format markdown > talk.md": "Save it as Markdown.",
      },
    },
    importSession: {
      name: "import",
      summary: "Take over a session from a file, or one that an agent began itself",
      description:
        "A file is what `session export --bundle` writes, and becomes a new session with a work tree " +
        "of its own. With --agent, the agent loads the session, and what it replays is stored as ours. From then on it is a " +
        "session like any other. While another program has the session open, both would write to " +
        "it; if such a program is found, nothing is done unless --force is given.",
      args: [arg("SESSION", "The file, or the agent's id of the session")],
      options: {
        agent: text("NAME", "The agent that began the session", { names: "agent" }),
        folder: text("DIR", "Folder of the session, instead of the one that the agent's list has"),
        force: flag("Take it over even if it seems to be open elsewhere"),
      },
      examples: {
        "trunkline session import SESSION --agent claude":
          "Continue a conversation that began in a terminal.",
        "trunkline session import FILE": "Continue a session from a file.",
      },
    },
    move: {
      summary: "Move a session with its work to another machine, or back",
      description:
        "Everything goes along: the conversation, commits that were not pushed, staged, changed and " +
        "untracked files, and ignored ones that `sessions.worktree.carry` names. What stays is listed " +
        "first. The session is on one side at every moment; if the connection is lost, repeat the " +
        "command. What changed here meanwhile is merged when it comes back. For a server with another " +
        "data folder, set TRUNKLINE_TOKEN to a token of it with the scope `sessions`.",
      args: [SESSION],
      options: {
        to: text("URL", "ACP address of the gateway to move it to, such as wss://example.com/acp"),
        here: flag("Bring it here, from where it was moved to or from --url"),
        url: text("URL", "With --here: the gateway that has it"),
        "with-secrets": flag("Also carry files whose names say that they hold secrets"),
        interrupt: flag("Interrupt a running turn at once; it may end its tool call otherwise"),
        "new-key": flag("Accept that the gateway has another host key than before"),
      },
      examples: {
        "trunkline session move SESSION --to wss://example.com/acp": "Continue on a server.",
        "trunkline session move SESSION --here": "Bring it back.",
      },
      load: async () => ({ run: (await import("./move.ts")).move }),
    },
    land: {
      summary: "Bring the work of a session with a work tree to a branch",
      description:
        "Uncommitted files are committed first. Then the session's branch is merged into the branch " +
        "that it started from. If that has conflicts, nothing changes, and the message says which " +
        "files have them. The session can go on afterwards.",
      args: [SESSION],
      options: {
        merge: flag("Merge it, which is the default"),
        squash: flag("Add it as one commit"),
        branch: text("NAME", "Leave it as a branch of this name, and merge nothing"),
        into: text(
          "BRANCH",
          "Branch that gets the work, instead of the one that the session started from",
        ),
        "run-changed": flag(
          "Run hooks, filters and drivers although they have changed since the session began",
        ),
      },
      examples: {
        "trunkline session land SESSION": "Merge it into the branch that it started from.",
        "trunkline session land SESSION --squash": "Add it as one commit.",
        "trunkline session land SESSION --branch parser":
          "Leave it as a branch, for a pull request for example.",
      },
    },
    remove: {
      name: "delete",
      summary: "Delete sessions",
      description:
        "The work tree of a session goes with it. Work that is not in another branch stays on a " +
        "branch, whose name is printed. Files that git ignores are deleted.",
      args: [{ ...SESSION, variadic: true }],
      examples: { "trunkline session delete SESSION": "Deletes it; this cannot be undone." },
    },
    permissions: {
      name: "permission",
      formerly: ["permissions"],
      summary: "List or revoke permissions that agents have for good",
      options: {
        ...folder,
        revoke: text("NUMBER", "Revoke this permission, so that agents ask again"),
      },
      examples: {
        "trunkline session permission": "List what you always allowed or always rejected.",
        "trunkline session permission --revoke NUMBER": "Revoke one.",
      },
    },
  }),
};

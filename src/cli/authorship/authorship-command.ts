import { arg, type Command, flag, json, text } from "../shell/command.ts";

const commit = text("COMMIT", "The file as this commit has it, instead of the work tree");

export const why: Command = {
  name: "why",
  summary: "Say which session, prompt and permission wrote a line",
  description:
    "Every agent that works through Trunkline is recorded, by comparing the files before and after each " +
    "tool call. The record is in the data folder; nothing is written into the repository. Lines are " +
    "followed through formatters, renames, rebases and squashes, and what is not certain is said to be so.",
  args: [arg("FILE:LINE", "The line, such as src/main.go:42")],
  options: { commit, json },
  examples: { "trunkline why src/main.go:42": "Who wrote this line, and why." },
  load: async () => ({ run: (await import("./authorship.ts")).why }),
};

export const blame: Command = {
  name: "blame",
  summary: "Print a file like git blame, with agents",
  args: [arg("FILE", "The file")],
  options: {
    commit,
    json,
    "agent-trace": flag("Print an Agent Trace record of the file as HEAD or --commit has it"),
  },
  examples: { "trunkline blame src/main.go": "Who wrote each line." },
  load: async () => ({ run: (await import("./authorship.ts")).blame }),
};

export const notes: Command = {
  name: "notes",
  summary: "Write notes in Git AI's format for commits with lines of agents",
  description:
    "`on` is your yes for this repository, kept in the data folder: from then on a note is written in " +
    "refs/notes/ai after a turn that committed, and by `write` for the commits since. It names agent, model, " +
    "session id and lines, for tools that read them; no prompt and no message. Only what is certain is " +
    "noted, and a note that is there is kept. Nothing is pushed or fetched. Without on, off or write, it " +
    "says whether they are written.",
  args: [
    arg("[ACTION]", "on, off, or write", { choices: ["on", "off", "write"] }),
    arg("[FOLDER]", "Of the repository; default: this one"),
  ],
  options: { json },
  examples: {
    "trunkline notes on": "Write notes in this repository from now on.",
    "trunkline notes write": "Write those of the commits since.",
  },
  load: async () => ({ run: (await import("./authorship.ts")).notes }),
};

export const stats: Command = {
  name: "stats",
  summary: "Count the lines that are left of each agent and person",
  args: [arg("[FOLDER]", "Only files in it; default: the whole repository")],
  options: { json },
  examples: { "trunkline stats": "Surviving lines by agent and model, and those of people." },
  load: async () => ({ run: (await import("./authorship.ts")).stats }),
};

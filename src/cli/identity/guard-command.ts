import { type Command, json } from "../shell/command.ts";
import { repo } from "./identity-options.ts";

export const guard: Command = {
  name: "guard",
  summary: "Have git refuse commits and pushes by the wrong identity",
  description:
    "Hooks look at who commits, who signs and which account pushes. What cannot be checked is " +
    "refused. Your own hooks run after it.",
  examples: [
    { run: "trunkline identity guard install", explains: "In this repository, all work trees." },
    {
      run: "trunkline identity guard status",
      explains: "Whether it is on; `TRUNKLINE_GUARD=skip git push` goes past it once, on record.",
    },
  ],
  commands: [
    {
      name: "install",
      summary: "Install the hooks in a repository",
      options: { repo, json },
      examples: [{ run: "trunkline identity guard install", explains: "Again does no harm." }],
      load: async () => ({ run: (await import("./guard.ts")).install }),
    },
    {
      name: "remove",
      summary: "Take the hooks out, and put back those that were there",
      options: { repo, json },
      examples: [{ run: "trunkline identity guard remove", explains: "As if it had not been." }],
      load: async () => ({ run: (await import("./guard.ts")).remove }),
    },
    {
      name: "status",
      summary: "Show whether the guard is installed",
      description: "Exits with 1 where it is not, or not whole.",
      options: { repo, json },
      examples: [{ run: "trunkline identity guard status", explains: "In this repository." }],
      load: async () => ({ run: (await import("./guard.ts")).status }),
    },
    {
      name: "allow",
      summary: "Let the next refused commit or push through, once",
      options: {
        once: { type: "boolean", describe: "Only once, as it always is" },
        reason: { type: "string", value: "TEXT", describe: "Why, for the record" },
        repo,
        json,
      },
      examples: [
        {
          run: 'trunkline identity guard allow --once --reason "old history"',
          explains: "Within the next ten minutes, in this work tree.",
        },
      ],
      load: async () => ({ run: (await import("./guard.ts")).allow }),
    },
    {
      name: "check",
      summary: "Judge a commit or a push, as the hooks have it done",
      args: [
        {
          name: "HOOK",
          describe: "The hook that asks",
          choices: ["pre-commit", "pre-merge-commit", "pre-push"],
        },
        { name: "REMOTE", describe: "Of a push: the name of the remote", optional: true },
        { name: "URL", describe: "Of a push: its address", optional: true },
      ],
      options: { json },
      examples: [
        {
          run: "trunkline identity guard check pre-commit",
          explains: "Whether a commit could be made here now.",
        },
      ],
      load: async () => ({ run: (await import("./guard.ts")).check }),
    },
  ],
};

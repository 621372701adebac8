import { arg, type Command, flag, json, text } from "../shell/command.ts";
import { repo } from "./identity-options.ts";

export const guard: Command = {
  name: "guard",
  summary: "Make git refuse commits and pushes by the wrong identity",
  description:
    "Git hooks check the author, the signature and the account that pushes. They refuse what they " +
    "cannot check. Your own hooks still run, after these.",
  examples: {
    "trunkline identity guard install": "For this repository and all its work trees.",
    "trunkline identity guard status":
      "Show whether it is installed. `TRUNKLINE_GUARD=skip git push` skips it once, and is recorded.",
  },
  commands: [
    {
      name: "install",
      summary: "Install the hooks in a repository",
      options: { repo, json },
      examples: { "trunkline identity guard install": "Running it twice does no harm." },
      load: async () => ({ run: (await import("./guard.ts")).install }),
    },
    {
      name: "remove",
      summary: "Remove the hooks, and restore those that were there before",
      options: { repo, json },
      examples: { "trunkline identity guard remove": "Remove them." },
      load: async () => ({ run: (await import("./guard.ts")).remove }),
    },
    {
      name: "status",
      summary: "Show whether the guard is installed",
      description: "Exits with 1 if it is missing or incomplete.",
      options: { repo, json },
      examples: { "trunkline identity guard status": "For this repository." },
      load: async () => ({ run: (await import("./guard.ts")).status }),
    },
    {
      name: "allow",
      summary: "Allow the next commit or push that would be refused",
      options: {
        once: flag("Accepted; a pass is always for one commit or push"),
        reason: text("TEXT", "Reason, for the audit record"),
        repo,
        json,
      },
      examples: {
        'trunkline identity guard allow --once --reason "old history"':
          "Valid for ten minutes, in this work tree.",
      },
      load: async () => ({ run: (await import("./guard.ts")).allow }),
    },
    {
      name: "check",
      summary: "Check a commit or a push; the hooks run this",
      args: [
        arg("HOOK", "The hook that runs it", {
          choices: ["pre-commit", "pre-merge-commit", "pre-push"],
        }),
        arg("[REMOTE]", "For a push: the name of the remote"),
        arg("[URL]", "For a push: the URL of the remote"),
      ],
      options: { json },
      examples: {
        "trunkline identity guard check pre-commit":
          "Check whether a commit would be allowed here now.",
      },
      load: async () => ({ run: (await import("./guard.ts")).check }),
    },
  ],
};

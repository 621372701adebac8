import { arg, type Command, flag, json, text } from "../shell/command.ts";
import { name } from "./identity-options.ts";

export const token: Command = {
  name: "token",
  summary: "Store the tokens that identities log in to forges with",
  description:
    "Tokens are stored in the system's keychain or, if there is none, in an encrypted file; `set` " +
    "prints which. Git gets them from `trunkline identity credential`, and only for repositories of " +
    "that identity.",
  examples: { "trunkline identity token set work": "Store a token." },
  commands: [
    {
      name: "set",
      summary: "Store the token of an identity",
      description:
        "Reads it from standard input, or asks for it at a terminal: other users can see command " +
        "lines. Then asks the forge whose token it is and when it expires.",
      args: [name],
      options: {
        "from-env": text("VARIABLE", "Read it from an environment variable"),
        "from-cli": flag("Use the token of gh or glab"),
        expires: text("DATE", "When it expires, such as 2027-01-31"),
        "no-verify": flag("Do not check it with the forge"),
        json,
      },
      examples: {
        "trunkline identity token set work": "Type or paste it.",
        "cat token.txt | trunkline identity token set work": "Read it from a file.",
      },
      load: async () => ({ run: (await import("./token.ts")).set }),
    },
    {
      name: "get",
      summary: "Show the stored token, masked, and where it is stored",
      args: [name],
      options: { json },
      examples: { "trunkline identity token get work": "Its first and last characters." },
      load: async () => ({ run: (await import("./token.ts")).get }),
    },
    {
      name: "clear",
      summary: "Delete the stored token of an identity",
      args: [name],
      options: { json },
      examples: { "trunkline identity token clear work": "The token stays valid at the forge." },
      load: async () => ({ run: (await import("./token.ts")).clear }),
    },
    {
      name: "verify",
      summary: "Check tokens with the forges: whose they are and when they expire",
      args: [arg("[NAME...]", "Identities to check; all if none is given")],
      options: { json },
      examples: { "trunkline identity token verify": "Check all of them." },
      load: async () => ({ run: (await import("./token.ts")).verify }),
    },
  ],
};

export const credential: Command = {
  name: "credential",
  summary: "Act as a git credential helper",
  description:
    "Git calls it in repositories that were switched to an identity. It gives out the token for " +
    "repositories of that identity, and tells git to stop asking for all others.",
  args: [arg("OPERATION", "Operation of git: get, store or erase")],
  options: { json: flag("Has no effect: the format is git's") },
  examples: {
    'printf "protocol=https\\nhost=github.com\\npath=acme/app.git\\n\\n" | trunkline identity credential get':
      "Ask what git would ask.",
  },
  load: async () => ({ run: (await import("./token.ts")).credential }),
};

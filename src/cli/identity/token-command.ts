import { type Command, json } from "../shell/command.ts";
import { name } from "./identity-options.ts";

export const token: Command = {
  name: "token",
  summary: "Store the tokens that identities log in to forges with",
  description:
    "Tokens are stored in the system's keychain or, if there is none, in an encrypted file; `set` " +
    "prints which. Git gets them from `trunkline identity credential`, and only for repositories of " +
    "that identity.",
  examples: [{ run: "trunkline identity token set work", explains: "Store a token." }],
  commands: [
    {
      name: "set",
      summary: "Store the token of an identity",
      description:
        "Reads it from standard input, or asks for it at a terminal: other users can see command " +
        "lines. Then asks the forge whose token it is and when it expires.",
      args: [name],
      options: {
        "from-env": {
          type: "string",
          value: "VARIABLE",
          describe: "Read it from an environment variable",
        },
        "from-cli": { type: "boolean", describe: "Use the token of gh or glab" },
        expires: { type: "string", value: "DATE", describe: "When it expires, such as 2027-01-31" },
        "no-verify": { type: "boolean", describe: "Do not check it with the forge" },
        json,
      },
      examples: [
        { run: "trunkline identity token set work", explains: "Type or paste it." },
        {
          run: "cat token.txt | trunkline identity token set work",
          explains: "Read it from a file.",
        },
      ],
      load: async () => ({ run: (await import("./token.ts")).set }),
    },
    {
      name: "get",
      summary: "Show the stored token, masked, and where it is stored",
      args: [name],
      options: { json },
      examples: [
        { run: "trunkline identity token get work", explains: "Its first and last characters." },
      ],
      load: async () => ({ run: (await import("./token.ts")).get }),
    },
    {
      name: "clear",
      summary: "Delete the stored token of an identity",
      args: [name],
      options: { json },
      examples: [
        {
          run: "trunkline identity token clear work",
          explains: "The token stays valid at the forge.",
        },
      ],
      load: async () => ({ run: (await import("./token.ts")).clear }),
    },
    {
      name: "verify",
      summary: "Check tokens with the forges: whose they are and when they expire",
      args: [
        {
          name: "NAME",
          describe: "Identities to check; all if none is given",
          optional: true,
          variadic: true,
        },
      ],
      options: { json },
      examples: [{ run: "trunkline identity token verify", explains: "Check all of them." }],
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
  args: [{ name: "OPERATION", describe: "Operation of git: get, store or erase" }],
  options: { json: { type: "boolean", describe: "Has no effect: the format is git's" } },
  examples: [
    {
      run: 'printf "protocol=https\\nhost=github.com\\npath=acme/app.git\\n\\n" | trunkline identity credential get',
      explains: "Ask what git would ask.",
    },
  ],
  load: async () => ({ run: (await import("./token.ts")).credential }),
};

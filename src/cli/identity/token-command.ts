import { type Command, json } from "../shell/command.ts";
import { name } from "./identity-options.ts";

export const token: Command = {
  name: "token",
  summary: "Keep the tokens that identities log in to forges with",
  description:
    "They are in the system's keychain, or where there is none in an encrypted file; `set` says " +
    "which. Git gets them from `trunkline identity credential`, and only for the right repositories.",
  examples: [{ run: "trunkline identity token set work", explains: "Store one." }],
  commands: [
    {
      name: "set",
      summary: "Store the token of an identity",
      description:
        "It is read from standard input, or asked for where a person is there: what is on a command " +
        "line can be seen by all. The forge is asked whose it is, and when it expires.",
      args: [name],
      options: {
        "from-env": { type: "string", value: "VARIABLE", describe: "Take it from a variable" },
        "from-cli": { type: "boolean", describe: "Take the one that gh or glab has" },
        expires: { type: "string", value: "DATE", describe: "When it expires, such as 2027-01-31" },
        "no-verify": { type: "boolean", describe: "Do not ask the forge" },
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
      summary: "Show that there is a token, masked, and where",
      args: [name],
      options: { json },
      examples: [
        { run: "trunkline identity token get work", explains: "Its first and last letters." },
      ],
      load: async () => ({ run: (await import("./token.ts")).get }),
    },
    {
      name: "clear",
      summary: "Forget the token of an identity",
      args: [name],
      options: { json },
      examples: [{ run: "trunkline identity token clear work", explains: "It is still valid." }],
      load: async () => ({ run: (await import("./token.ts")).clear }),
    },
    {
      name: "verify",
      summary: "Ask forges whose the tokens are, and when they expire",
      args: [
        { name: "NAME", describe: "The identities; without, all", optional: true, variadic: true },
      ],
      options: { json },
      examples: [{ run: "trunkline identity token verify", explains: "All of them at once." }],
      load: async () => ({ run: (await import("./token.ts")).verify }),
    },
  ],
};

export const credential: Command = {
  name: "credential",
  summary: "Answer git's questions for credentials",
  description:
    "Git calls it, where an identity is in force. It answers for repositories of that identity, and " +
    "has git give up for all others.",
  args: [{ name: "OPERATION", describe: "What git wants: get, store or erase" }],
  options: { json: { type: "boolean", describe: "Has no effect: git speaks its own format" } },
  examples: [
    {
      run: 'printf "protocol=https\\nhost=github.com\\npath=acme/app.git\\n\\n" | trunkline identity credential get',
      explains: "What git would ask.",
    },
  ],
  load: async () => ({ run: (await import("./token.ts")).credential }),
};

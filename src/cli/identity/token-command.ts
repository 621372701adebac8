import type { Command } from "../shell/command.ts";
import { json, name, repo } from "./identity-options.ts";

const validate: Command = {
  name: "validate",
  summary: "Find out whether identities work, by connecting",
  description:
    "Logs in by ssh with the identity's own key, and asks the forge whose the token is, all at the " +
    "same time. Exits with 1 where anything fails.",
  args: [
    { name: "NAME", describe: "The identities; without, all", optional: true, variadic: true },
  ],
  options: {
    offline: { type: "boolean", describe: "Look only at what is on this machine" },
    signing: { type: "boolean", describe: "Also find out whether it can sign" },
    timeout: {
      type: "string",
      value: "SECONDS",
      describe: "How long to wait for each answer",
      default: "10",
    },
    json,
  },
  examples: [
    { run: "trunkline identity validate work", explains: "One of them." },
    { run: "trunkline identity validate --signing --json", explains: "All, for a script." },
  ],
  load: async () => ({ run: (await import("./validate.ts")).validate }),
};

const gpg: Command = {
  name: "gpg",
  summary: "Find out whether an identity can sign now, with nobody's help",
  description:
    "Asks nobody and does not wait: a key that is locked, or in a device that wants a touch, is " +
    "said to be so. Exits with 1 unless it can sign by itself.",
  args: [{ name: "NAME", describe: "The identity; without, the one here", optional: true }],
  options: { json },
  examples: [{ run: "trunkline identity gpg work", explains: "By gpg or by ssh, as it is set." }],
  load: async () => ({ run: (await import("./identity-gpg.ts")).gpg }),
};

const token: Command = {
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

const guard: Command = {
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

const credential: Command = {
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
  load: async () => ({ run: (await import("./identity-credential.ts")).credential }),
};

/** The part of `trunkline identity` that has to do with secrets, signatures and guarding. */
export const identitySecrets: readonly Command[] = [validate, gpg, token, guard, credential];

import { arg, type Command, json, text } from "../shell/command.ts";
import { edits } from "./edit-command.ts";
import { guard } from "./guard-command.ts";
import { name, repo } from "./identity-options.ts";
import { switches } from "./switch-command.ts";
import { credential, token } from "./token-command.ts";
import { gpg, validate } from "./validate-command.ts";

const list: Command = {
  name: "list",
  summary: "List the identities",
  options: {
    provider: text("PROVIDER", "Only identities for this kind of forge", {
      choices: ["github", "gitlab", "bitbucket", "other", "all"],
      default: "all",
    }),
    json,
  },
  examples: { "trunkline identity list": "One line per identity." },
  load: async () => ({ run: (await import("./identity.ts")).list }),
};

const detect: Command = {
  name: "detect",
  summary: "Find the identity that fits a repository",
  description: "Exits with 1 if none fits, or if several fit equally well.",
  options: { repo, json },
  examples: {
    "trunkline identity detect": "For the current folder, with the reason.",
    "trunkline identity detect --repo ~/src/app --json": "For a script.",
  },
  load: async () => ({ run: (await import("./identity.ts")).detect }),
};

const status: Command = {
  name: "status",
  summary: "Show which identity a repository uses, which one fits it, and what it lacks",
  description:
    "Also shows whether there is a token, an SSH key, a signing key and the guard, and the command for " +
    "each that is missing. Asks neither the forge nor a keychain; `validate` does.",
  options: { repo, json },
  examples: { "trunkline identity status": "For the current folder." },
  load: async () => ({ run: (await import("./identity.ts")).status }),
};

const env: Command = {
  name: "env",
  summary: "Print environment variables that make a shell use an identity",
  args: [name],
  options: { json },
  examples: { 'eval "$(trunkline identity env work)"': "For this shell only; no file is changed." },
  load: async () => ({ run: (await import("./identity.ts")).env }),
};

const exec: Command = {
  name: "exec",
  summary: "Run a command as an identity",
  description:
    "Git uses the identity, and `gh`, `glab` and `tea` find its token in their variables: in this " +
    "command and what it starts, and nowhere else. Variables of another account are removed.\n\n" +
    "Exits with the exit code of the command, or with 128 and the number of the signal that ended it.",
  args: [name, arg("COMMAND...", "The command and its arguments, after `--`")],
  examples: {
    "trunkline identity exec work -- gh pr create --fill":
      "Open a pull request with the identity's token.",
    "trunkline identity exec oss -- git push": "Push as another identity, without a switch.",
  },
  load: async () => ({ run: (await import("./exec.ts")).exec }),
};

export const identity: Command = {
  name: "identity",
  summary: "Use the right author, SSH key and signature in each repository",
  description:
    "An identity is an author, an SSH key, a way to sign and a token for one account. `switch` sets " +
    "it for a repository or a single work tree, and `undo` takes that back. Agents " +
    "get theirs in their environment.",
  examples: {
    "trunkline identity add oss --provider github --user ada --email ada@example.org":
      "Add an identity.",
    "trunkline identity switch work": "Use it in this repository.",
    "trunkline identity status": "Show which identity is used here, and which one fits.",
  },
  commands: [
    list,
    ...edits,
    detect,
    ...switches,
    status,
    env,
    exec,
    validate,
    gpg,
    token,
    guard,
    credential,
  ],
};

import { type Command, json } from "../shell/command.ts";
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
    provider: {
      type: "string",
      value: "PROVIDER",
      describe: "Only those for one kind of forge",
      choices: ["github", "gitlab", "bitbucket", "other", "all"],
      default: "all",
    },
    json,
  },
  examples: [{ run: "trunkline identity list", explains: "A line for each." }],
  load: async () => ({ run: (await import("./identity.ts")).list }),
};

const detect: Command = {
  name: "detect",
  summary: "Find out which identity a repository is for",
  description: "Exits with 1 where none fits, or several fit equally well.",
  options: { repo, json },
  examples: [
    { run: "trunkline identity detect", explains: "Of the current folder, and why." },
    { run: "trunkline identity detect --repo ~/src/app --json", explains: "For a script." },
  ],
  load: async () => ({ run: (await import("./identity.ts")).detect }),
};

const status: Command = {
  name: "status",
  summary: "Show who you are in a repository, and who you should be",
  options: { repo, json },
  examples: [{ run: "trunkline identity status", explains: "Of the current folder." }],
  load: async () => ({ run: (await import("./identity.ts")).status }),
};

const env: Command = {
  name: "env",
  summary: "Print the variables that make a shell act as an identity",
  args: [name],
  options: { json },
  examples: [
    {
      run: 'eval "$(trunkline identity env work)"',
      explains: "In this shell alone; no file changes.",
    },
  ],
  load: async () => ({ run: (await import("./identity.ts")).env }),
};

export const identity: Command = {
  name: "identity",
  summary: "Be the right person to git, to forges and in signatures",
  description:
    "An identity says who commits are by, which key ssh shows and what signs. Agents get theirs in " +
    "their environment; `switch` sets that of a repository or a single work tree, and `undo` puts " +
    "everything back, byte for byte.",
  examples: [
    {
      run: "trunkline identity add oss --provider github --user ada --email ada@example.org",
      explains: "Make an identity.",
    },
    { run: "trunkline identity switch work", explains: "Use it in this repository." },
    { run: "trunkline identity status", explains: "Who you are here, and who you should be." },
  ],
  commands: [
    list,
    ...edits,
    detect,
    ...switches,
    status,
    env,
    validate,
    gpg,
    token,
    guard,
    credential,
  ],
};

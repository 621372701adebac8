import { type Command, json } from "../shell/command.ts";
import { dryRun, name, repo } from "./identity-options.ts";

/** The commands that change files of git and ssh: their code is in `switch.ts`. */
export const switches: readonly Command[] = [
  {
    name: "switch",
    summary: "Use an identity in a repository",
    description:
      "Sets author, ssh key and signing in the configuration of the work tree, where there are " +
      "several, or else of the repository. Remotes keep their addresses.",
    args: [name],
    options: {
      "dry-run": dryRun,
      global: { type: "boolean", describe: "For all your repositories: in your ~/.gitconfig" },
      "rewrite-remotes": {
        type: "boolean",
        describe: "Send remotes through the ssh host of the identity",
      },
      "recurse-submodules": {
        type: "boolean",
        describe: "Also in its submodules, but for those that are for another identity",
      },
      repo,
      json,
    },
    examples: [
      { run: "trunkline identity switch work --dry-run", explains: "See what would change." },
      { run: "trunkline identity switch work", explains: "Change it." },
    ],
    load: async () => ({ run: (await import("./switch.ts")).switchTo }),
  },
  {
    name: "sync",
    summary: "Have ssh and git know the identities by themselves",
    description:
      "Writes a block of lines to ~/.ssh/config, for the ssh hosts of identities, and one to " +
      "~/.gitconfig, for the folders in their match rules. Everything else there stays as it is.",
    options: {
      "dry-run": dryRun,
      remove: { type: "boolean", describe: "Take the blocks out again" },
      json,
    },
    examples: [
      { run: "trunkline identity sync --dry-run", explains: "See the lines." },
      { run: "trunkline identity sync --remove", explains: "As if they had never been there." },
    ],
    load: async () => ({ run: (await import("./switch.ts")).sync }),
  },
  {
    name: "undo",
    summary: "Put back what the last switch changed",
    description: "Byte for byte. Refuses where a file has been changed since by somebody else.",
    options: {
      "dry-run": dryRun,
      global: { type: "boolean", describe: "The last change of your own files: --global, sync" },
      id: { type: "string", value: "ID", describe: "One change, by the id that it was given" },
      force: { type: "boolean", describe: "Also lose what has been changed since" },
      repo,
      json,
    },
    examples: [{ run: "trunkline identity undo", explains: "The last switch here." }],
    load: async () => ({ run: (await import("./switch.ts")).undo }),
  },
];

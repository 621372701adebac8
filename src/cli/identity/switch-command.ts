import { type Command, json } from "../shell/command.ts";
import { dryRun, name, repo } from "./identity-options.ts";

/** The commands that change files of git and ssh: their code is in `switch.ts`. */
export const switches: readonly Command[] = [
  {
    name: "switch",
    summary: "Use an identity in a repository",
    description:
      "Sets author, SSH key and signing in the git configuration of the repository, or of the work " +
      "tree if there are several. Remote URLs do not change.",
    args: [name],
    options: {
      "dry-run": dryRun,
      global: { type: "boolean", describe: "Use it in all your repositories: change ~/.gitconfig" },
      "rewrite-remotes": {
        type: "boolean",
        describe: "Change remote URLs to the identity's SSH host alias",
      },
      "recurse-submodules": {
        type: "boolean",
        describe: "Also switch submodules, except those that fit another identity",
      },
      repo,
      json,
    },
    examples: [
      { run: "trunkline identity switch work --dry-run", explains: "Show what would change." },
      { run: "trunkline identity switch work", explains: "Switch." },
    ],
    load: async () => ({ run: (await import("./switch.ts")).switchTo }),
  },
  {
    name: "sync",
    summary: "Write the identities to ~/.ssh/config and ~/.gitconfig",
    description:
      "Adds a block to ~/.ssh/config with the SSH host aliases of identities, and one to " +
      "~/.gitconfig with the folders of their match rules. Nothing else in these files changes.",
    options: {
      "dry-run": dryRun,
      remove: { type: "boolean", describe: "Remove the blocks" },
      json,
    },
    examples: [
      { run: "trunkline identity sync --dry-run", explains: "Show the lines." },
      { run: "trunkline identity sync --remove", explains: "Remove them again." },
    ],
    load: async () => ({ run: (await import("./switch.ts")).sync }),
  },
  {
    name: "undo",
    summary: "Undo the last switch",
    description:
      "Takes back the settings of the switch. What git or you have written to the files since stays.",
    options: {
      "dry-run": dryRun,
      global: { type: "boolean", describe: "Undo the last `switch --global` or `sync`" },
      id: { type: "string", value: "ID", describe: "Undo the change with this id" },
      force: { type: "boolean", describe: "Restore also settings that were changed since" },
      repo,
      json,
    },
    examples: [
      { run: "trunkline identity undo", explains: "Undo the last switch in this repository." },
    ],
    load: async () => ({ run: (await import("./switch.ts")).undo }),
  },
];

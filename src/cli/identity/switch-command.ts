import { type Command, flag, json, text } from "../shell/command.ts";
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
      global: flag("Use it in all your repositories: change ~/.gitconfig"),
      "rewrite-remotes": flag("Change remote URLs to the identity's SSH host alias"),
      "recurse-submodules": flag("Also switch submodules, except those that fit another identity"),
      repo,
      json,
    },
    examples: {
      "trunkline identity switch work --dry-run": "Show what would change.",
      "trunkline identity switch work": "Switch.",
    },
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
      remove: flag("Remove the blocks"),
      json,
    },
    examples: {
      "trunkline identity sync --dry-run": "Show the lines.",
      "trunkline identity sync --remove": "Remove them again.",
    },
    load: async () => ({ run: (await import("./switch.ts")).sync }),
  },
  {
    name: "undo",
    summary: "Undo the last switch",
    description:
      "Takes back the settings of the switch. What git or you have written to the files since stays.",
    options: {
      "dry-run": dryRun,
      global: flag("Undo the last `switch --global` or `sync`"),
      id: text("ID", "Undo the change with this id"),
      force: flag("Restore also settings that were changed since"),
      repo,
      json,
    },
    examples: { "trunkline identity undo": "Undo the last switch in this repository." },
    load: async () => ({ run: (await import("./switch.ts")).undo }),
  },
];

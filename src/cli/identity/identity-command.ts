import {
  arg,
  type Command,
  type CommandEntry,
  commandsIn,
  flag,
  type Options,
  text,
} from "../shell/command.ts";

const code = () => import("./identity.ts");

/** Options and arguments that several commands about identities share. */
const repo = text("DIR", "The repository, instead of the one in the current folder");
const name = arg("NAME", "The identity", { names: "identity" });
const dryRun = flag("Print the changes without making them");

/** The settings of an identity, as options. */
const facts: Options = {
  provider: text("PROVIDER", "Kind of forge", {
    choices: ["github", "gitlab", "bitbucket", "other"],
  }),
  user: text("USER", "Account name on the forge"),
  email: text("EMAIL", "Email address for commits"),
  "display-name": text("NAME", "Author name for commits"),
  host: text("HOST", "Host of the forge, if it is not the provider's own"),
  "ssh-host": text("ALIAS", "Host alias in ~/.ssh/config"),
  "ssh-key": text("FILE", "Private SSH key to log in with"),
  signing: text("FORMAT", "How to sign commits", { choices: ["openpgp", "ssh", "none"] }),
  "signing-key": text("KEY", "Key to sign with: a key id, or for ssh a file"),
  organization: text("OWNER...", "Owner whose repositories use this identity; may be repeated"),
  "token-source": text(
    "SOURCE",
    "Where its token comes from: keychain (or an encrypted file), env:VARIABLE, cli (the token " +
      "of gh or glab) or none",
  ),
  match: text(
    "RULE...",
    "Repositories that use this identity: path=DIR, host=HOST, owner=OWNER or remote=URL; join " +
      "conditions that must all hold with commas; may be repeated",
  ),
};

/** An empty value removes a setting. */
const changes: Options = Object.fromEntries(
  Object.entries(facts).map(([name, spec]) => [name, { ...spec, mayBeEmpty: true }]),
);

/** The commands that change which identities there are: their code is in `edit.ts` and `import.ts`. */
const edits = commandsIn(() => import("./edit.ts"), {
  add: {
    summary: "Add an identity",
    description:
      "Writes it to your configuration file and changes nothing else there. At a terminal, asks for " +
      "required values that are missing.",
    args: [arg("NAME", "Name of the new identity")],
    options: { ...facts },
    examples: {
      "trunkline identity add work --provider github --user ada --email ada@example.com --ssh-key ~/.ssh/id_work --organization acme":
        "For the repositories of acme.",
      "trunkline identity add oss --provider gitlab --user ada --email ada@example.org --signing ssh --signing-key ~/.ssh/id_oss.pub":
        "Signs commits with an SSH key.",
    },
  },
  edit: {
    summary: "Change an identity",
    description:
      "Changes only the settings that you name. An empty value, as in --host=, removes one.",
    args: [name],
    options: { ...changes },
    examples: {
      "trunkline identity edit work --email ada@acme.example": "Change the email address.",
    },
  },
  remove: {
    summary: "Remove an identity from the configuration",
    description: "Repositories that were switched to it are not changed.",
    args: [name],
    examples: { "trunkline identity remove old": "Remove it." },
  },
  importFile: {
    name: "import",
    summary: "Import identities from RemoteJuggler",
    description: "The file stays as it is. Secrets are not imported; the command lists them.",
    args: [arg("FILE", "RemoteJuggler's config.json")],
    options: {
      force: flag("Replace identities that have the same name"),
      "dry-run": dryRun,
    },
    examples: {
      "trunkline identity import ~/.config/remote-juggler/config.json":
        "Import RemoteJuggler's own configuration.",
    },
  },
});

const guard: Command = {
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
  commands: commandsIn(() => import("./guard.ts"), {
    install: {
      summary: "Install the hooks in a repository",
      options: { repo },
      examples: { "trunkline identity guard install": "Running it twice does no harm." },
    },
    remove: {
      summary: "Remove the hooks, and restore those that were there before",
      options: { repo },
      examples: { "trunkline identity guard remove": "Remove them." },
    },
    status: {
      summary: "Show whether the guard is installed",
      description: "Exits with 1 if it is missing or incomplete.",
      options: { repo },
      examples: { "trunkline identity guard status": "For this repository." },
    },
    allow: {
      summary: "Allow the next commit or push that would be refused",
      options: {
        once: flag("Accepted; a pass is always for one commit or push"),
        reason: text("TEXT", "Reason, for the audit record"),
        repo,
      },
      examples: {
        'trunkline identity guard allow --once --reason "old history"':
          "Valid for ten minutes, in this work tree.",
      },
    },
    check: {
      isForPrograms: true,
      summary: "Check a commit or a push; the hooks run this",
      args: [
        arg("HOOK", "The hook that runs it", {
          choices: ["pre-commit", "pre-merge-commit", "pre-push"],
        }),
        arg("[REMOTE]", "For a push: the name of the remote"),
        arg("[URL]", "For a push: the URL of the remote"),
      ],
      examples: {
        "trunkline identity guard check pre-commit":
          "Check whether a commit would be allowed here now.",
      },
    },
  }),
};

/** The commands that change files of git and ssh: their code is in `switch.ts`. */
const switches = commandsIn(() => import("./switch.ts"), {
  switchTo: {
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
      repo,
    },
    examples: {
      "trunkline identity switch work --dry-run": "Show what would change.",
      "trunkline identity switch work": "Switch.",
    },
  },
  clone: {
    summary: "Clone a repository as an identity, and use it there",
    description:
      "Git logs in with the identity's key and token, and no other's. The clone is then switched to it.",
    args: [
      name,
      arg("URL", "Address of the repository"),
      arg("[DIR]", "Folder to create, instead of the repository's name"),
    ],
    examples: {
      "trunkline identity clone work git@github.com:acme/app.git": "Clone it into the folder app.",
    },
  },
  sync: {
    summary: "Write the identities to ~/.ssh/config and ~/.gitconfig",
    description:
      "Adds a block to ~/.ssh/config with the SSH host aliases of identities, and one to " +
      "~/.gitconfig with the folders, hosts and owners of their match rules, their organizations and " +
      "accounts. Nothing else in these files changes.",
    options: {
      "dry-run": dryRun,
      remove: flag("Remove the blocks"),
    },
    examples: {
      "trunkline identity sync --dry-run": "Show the lines.",
      "trunkline identity sync --remove": "Remove them again.",
    },
  },
  undo: {
    summary: "Undo the last switch",
    description:
      "Takes back the settings of the switch. What git or you have written to the files since stays.",
    options: {
      "dry-run": dryRun,
      global: flag("Undo the last `switch --global` or `sync`"),
      id: text("ID", "Undo the change with this id"),
      force: flag("Restore also settings that were changed since"),
      repo,
    },
    examples: { "trunkline identity undo": "Undo the last switch in this repository." },
  },
});

const token: Command = {
  name: "token",
  summary: "Store the tokens that identities log in to forges with",
  description:
    "Tokens are stored in the system's keychain or, if there is none, in an encrypted file; `set` " +
    "prints which. Git gets them from `trunkline identity credential`, and only for repositories of " +
    "that identity.",
  examples: { "trunkline identity token set work": "Store a token." },
  commands: commandsIn(() => import("./token.ts"), {
    set: {
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
      },
      examples: {
        "trunkline identity token set work": "Type or paste it.",
        "cat token.txt | trunkline identity token set work": "Read it from a file.",
      },
    },
    get: {
      summary: "Show the stored token, masked, and where it is stored",
      args: [name],
      examples: { "trunkline identity token get work": "Its first and last characters." },
    },
    clear: {
      summary: "Delete the stored token of an identity",
      args: [name],
      examples: { "trunkline identity token clear work": "The token stays valid at the forge." },
    },
    verify: {
      summary: "Check tokens with the forges: whose they are and when they expire",
      args: [arg("[NAME...]", "Identities to check; all if none is given", { names: "identity" })],
      examples: { "trunkline identity token verify": "Check all of them." },
    },
  }),
};

const credential: CommandEntry = {
  isForPrograms: true,
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
};

const validate: CommandEntry = {
  summary: "Check that identities work, by logging in",
  description:
    "Logs in over SSH with the identity's key, and asks the forge whose token it is. Checks all " +
    "identities at the same time. Exits with 1 if a check fails.",
  args: [arg("[NAME...]", "Identities to check; all if none is given", { names: "identity" })],
  options: {
    offline: flag("Check only what needs no network"),
    signing: flag("Also check that it can sign"),
  },
  examples: {
    "trunkline identity validate work": "Check one.",
    "trunkline identity validate --signing --json": "Check all, for a script.",
  },
};

const gpg: CommandEntry = {
  summary: "Check whether an identity can sign a commit without asking you",
  description:
    "Never asks for a passphrase: reports a key that is locked, or on a device that needs a touch. " +
    "Exits with 1 unless it can sign by itself.",
  args: [arg("[NAME]", "The identity; the current one if none is given", { names: "identity" })],
  examples: { "trunkline identity gpg work": "Checks GPG or SSH signing, as configured." },
};

const list: CommandEntry = {
  summary: "List the identities",
  options: {
    provider: text("PROVIDER", "Only identities for this kind of forge", {
      choices: ["github", "gitlab", "bitbucket", "other", "all"],
      default: "all",
    }),
  },
  examples: { "trunkline identity list": "One line per identity." },
};

const detect: CommandEntry = {
  summary: "Find the identity that fits a repository",
  description: "Exits with 1 if none fits, or if several fit equally well.",
  options: { repo },
  examples: {
    "trunkline identity detect": "For the current folder, with the reason.",
    "trunkline identity detect --repo ~/src/app --json": "For a script.",
  },
};

const status: CommandEntry = {
  summary: "Show which identity a repository uses, which one fits it, and what it lacks",
  description:
    "Also shows whether there is a token, an SSH key, a signing key and the guard, and the command for " +
    "each that is missing. Asks neither the forge nor a keychain; `validate` does.",
  options: { repo },
  examples: { "trunkline identity status": "For the current folder." },
};

const env: CommandEntry = {
  summary: "Print environment variables that make a shell use an identity",
  args: [name],
  examples: { 'eval "$(trunkline identity env work)"': "For this shell only; no file is changed." },
};

const exec: CommandEntry = {
  printsNoData: true,
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
    ...commandsIn(code, { list }),
    ...edits,
    ...commandsIn(code, { detect }),
    ...switches,
    ...commandsIn(code, { status, env, exec, validate, gpg }),
    token,
    guard,
    ...commandsIn(() => import("./token.ts"), { credential }),
  ],
};

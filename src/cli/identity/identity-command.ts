import type { Command, Options } from "../shell/command.ts";
import { json, name, repo } from "./identity-options.ts";
import { identitySecrets } from "./token-command.ts";

const dryRun = { type: "boolean", describe: "Print every change, and make none" } as const;

/** What an identity is made of. */
const facts: Options = {
  provider: {
    type: "string",
    value: "PROVIDER",
    describe: "What kind of forge it is for",
    choices: ["github", "gitlab", "bitbucket", "other"],
  },
  user: { type: "string", value: "USER", describe: "Name of the account on the forge" },
  email: { type: "string", value: "EMAIL", describe: "Address that commits bear" },
  "display-name": { type: "string", value: "NAME", describe: "Name that commits bear" },
  host: { type: "string", value: "HOST", describe: "Host of the forge, unless the provider's own" },
  "ssh-host": { type: "string", value: "ALIAS", describe: "Name of the host that only ssh knows" },
  "ssh-key": { type: "string", value: "FILE", describe: "Private key that ssh logs in with" },
  signing: {
    type: "string",
    value: "FORMAT",
    describe: "Sign commits, and how",
    choices: ["openpgp", "ssh", "none"],
  },
  "signing-key": {
    type: "string",
    value: "KEY",
    describe: "Key to sign with: its id, or of ssh its file",
  },
  organization: {
    type: "string",
    value: "OWNER",
    multiple: true,
    describe: "Owner of repositories that it is for; may be repeated",
  },
  "token-source": {
    type: "string",
    value: "SOURCE",
    describe:
      "Where its token comes from: keychain (also an encrypted file), env:VARIABLE, cli (what gh " +
      "or glab has) or none",
  },
  match: {
    type: "string",
    value: "RULE",
    multiple: true,
    describe:
      "Repositories that it is for: path=DIR, host=HOST, owner=OWNER or remote=URL, several " +
      "joined by commas; may be repeated",
  },
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
    {
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
    },
    {
      name: "add",
      summary: "Make an identity",
      description:
        "It is written to your configuration file, where everything else stays as it is. What is " +
        "missing is asked for where a person is there to answer.",
      args: [{ name: "NAME", describe: "What it is to be called" }],
      options: { ...facts, json },
      examples: [
        {
          run: "trunkline identity add work --provider github --user ada --email ada@example.com --ssh-key ~/.ssh/id_work --organization acme",
          explains: "One for the repositories of acme.",
        },
        {
          run: "trunkline identity add oss --provider gitlab --user ada --email ada@example.org --signing ssh --signing-key ~/.ssh/id_oss.pub",
          explains: "One that signs commits with an ssh key.",
        },
      ],
      load: async () => ({ run: (await import("./edit.ts")).add }),
    },
    {
      name: "edit",
      summary: "Change an identity",
      description: "Only what is named changes. An empty value, as in --host=, removes one.",
      args: [name],
      options: { ...facts, json },
      examples: [
        {
          run: "trunkline identity edit work --email ada@acme.example",
          explains: "Another address.",
        },
      ],
      load: async () => ({ run: (await import("./edit.ts")).edit }),
    },
    {
      name: "remove",
      summary: "Remove an identity from the configuration",
      description: "Repositories that were switched to it stay as they are.",
      args: [name],
      options: { json },
      examples: [{ run: "trunkline identity remove old", explains: "Forget it." }],
      load: async () => ({ run: (await import("./edit.ts")).remove }),
    },
    {
      name: "import",
      summary: "Take over the identities of RemoteJuggler",
      description:
        "Nothing of its config.json is lost: what Trunkline has no use for is kept under " +
        "`x-juggler`. Secrets are left out, and named.",
      args: [{ name: "FILE", describe: "RemoteJuggler's config.json" }],
      options: {
        force: { type: "boolean", describe: "Replace identities of the same name" },
        "dry-run": dryRun,
        json,
      },
      examples: [
        {
          run: "trunkline identity import ~/.config/remote-juggler/config.json",
          explains: "From where it keeps them.",
        },
      ],
      load: async () => ({ run: (await import("./import.ts")).importFile }),
    },
    {
      name: "export",
      summary: "Print the identities as RemoteJuggler's config.json",
      options: { json: { type: "boolean", describe: "Print JSON, which it does anyway" } },
      examples: [
        { run: "trunkline identity export > config.json", explains: "For another machine." },
      ],
      load: async () => ({ run: (await import("./import.ts")).exportFile }),
    },
    {
      name: "detect",
      summary: "Find out which identity a repository is for",
      description: "Exits with 1 where none fits, or several fit equally well.",
      options: { repo, json },
      examples: [
        { run: "trunkline identity detect", explains: "Of the current folder, and why." },
        { run: "trunkline identity detect --repo ~/src/app --json", explains: "For a script." },
      ],
      load: async () => ({ run: (await import("./identity.ts")).detect }),
    },
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
      name: "status",
      summary: "Show who you are in a repository, and who you should be",
      options: { repo, json },
      examples: [{ run: "trunkline identity status", explains: "Of the current folder." }],
      load: async () => ({ run: (await import("./identity.ts")).status }),
    },
    {
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
    ...identitySecrets,
  ],
};

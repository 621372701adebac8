import { type Command, json, type Options } from "../shell/command.ts";
import { dryRun, name } from "./identity-options.ts";

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

/** The commands that change which identities there are: their code is in `edit.ts` and `import.ts`. */
export const edits: readonly Command[] = [
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
];

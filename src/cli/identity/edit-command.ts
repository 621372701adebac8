import { type Command, json, type Options } from "../shell/command.ts";
import { dryRun, name } from "./identity-options.ts";

/** The settings of an identity, as options. */
const facts: Options = {
  provider: {
    type: "string",
    value: "PROVIDER",
    describe: "Kind of forge",
    choices: ["github", "gitlab", "bitbucket", "other"],
  },
  user: { type: "string", value: "USER", describe: "Account name on the forge" },
  email: { type: "string", value: "EMAIL", describe: "Email address for commits" },
  "display-name": { type: "string", value: "NAME", describe: "Author name for commits" },
  host: {
    type: "string",
    value: "HOST",
    describe: "Host of the forge, if it is not the provider's own",
  },
  "ssh-host": { type: "string", value: "ALIAS", describe: "Host alias in ~/.ssh/config" },
  "ssh-key": { type: "string", value: "FILE", describe: "Private SSH key to log in with" },
  signing: {
    type: "string",
    value: "FORMAT",
    describe: "How to sign commits",
    choices: ["openpgp", "ssh", "none"],
  },
  "signing-key": {
    type: "string",
    value: "KEY",
    describe: "Key to sign with: a key id, or for ssh a file",
  },
  organization: {
    type: "string",
    value: "OWNER",
    multiple: true,
    describe: "Owner whose repositories use this identity; may be repeated",
  },
  "token-source": {
    type: "string",
    value: "SOURCE",
    describe:
      "Where its token comes from: keychain (or an encrypted file), env:VARIABLE, cli (the token " +
      "of gh or glab) or none",
  },
  match: {
    type: "string",
    value: "RULE",
    multiple: true,
    describe:
      "Repositories that use this identity: path=DIR, host=HOST, owner=OWNER or remote=URL; join " +
      "conditions that must all hold with commas; may be repeated",
  },
};

/** An empty value removes a setting. */
const changes: Options = Object.fromEntries(
  Object.entries(facts).map(([name, spec]) => [name, { ...spec, mayBeEmpty: true }]),
);

/** The commands that change which identities there are: their code is in `edit.ts` and `import.ts`. */
export const edits: readonly Command[] = [
  {
    name: "add",
    summary: "Add an identity",
    description:
      "Writes it to your configuration file and changes nothing else there. At a terminal, asks for " +
      "required values that are missing.",
    args: [{ name: "NAME", describe: "Name of the new identity" }],
    options: { ...facts, json },
    examples: [
      {
        run: "trunkline identity add work --provider github --user ada --email ada@example.com --ssh-key ~/.ssh/id_work --organization acme",
        explains: "For the repositories of acme.",
      },
      {
        run: "trunkline identity add oss --provider gitlab --user ada --email ada@example.org --signing ssh --signing-key ~/.ssh/id_oss.pub",
        explains: "Signs commits with an SSH key.",
      },
    ],
    load: async () => ({ run: (await import("./edit.ts")).add }),
  },
  {
    name: "edit",
    summary: "Change an identity",
    description:
      "Changes only the settings that you name. An empty value, as in --host=, removes one.",
    args: [name],
    options: { ...changes, json },
    examples: [
      {
        run: "trunkline identity edit work --email ada@acme.example",
        explains: "Change the email address.",
      },
    ],
    load: async () => ({ run: (await import("./edit.ts")).edit }),
  },
  {
    name: "remove",
    summary: "Remove an identity from the configuration",
    description: "Repositories that were switched to it are not changed.",
    args: [name],
    options: { json },
    examples: [{ run: "trunkline identity remove old", explains: "Remove it." }],
    load: async () => ({ run: (await import("./edit.ts")).remove }),
  },
  {
    name: "import",
    summary: "Import identities from RemoteJuggler",
    description:
      "Settings that Trunkline does not use are kept under `x-juggler`. Secrets are not imported; " +
      "the command lists them.",
    args: [{ name: "FILE", describe: "RemoteJuggler's config.json" }],
    options: {
      force: { type: "boolean", describe: "Replace identities that have the same name" },
      "dry-run": dryRun,
      json,
    },
    examples: [
      {
        run: "trunkline identity import ~/.config/remote-juggler/config.json",
        explains: "Import RemoteJuggler's own configuration.",
      },
    ],
    load: async () => ({ run: (await import("./import.ts")).importFile }),
  },
  {
    name: "export",
    summary: "Print the identities as RemoteJuggler's config.json",
    options: { json: { type: "boolean", describe: "Accepted; the output is always JSON" } },
    examples: [
      { run: "trunkline identity export > config.json", explains: "Take them to another machine." },
    ],
    load: async () => ({ run: (await import("./import.ts")).exportFile }),
  },
];

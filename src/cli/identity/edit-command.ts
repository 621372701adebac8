import { arg, type Command, flag, json, type Options, text } from "../shell/command.ts";
import { dryRun, name } from "./identity-options.ts";

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
export const edits: readonly Command[] = [
  {
    name: "add",
    summary: "Add an identity",
    description:
      "Writes it to your configuration file and changes nothing else there. At a terminal, asks for " +
      "required values that are missing.",
    args: [arg("NAME", "Name of the new identity")],
    options: { ...facts, json },
    examples: {
      "trunkline identity add work --provider github --user ada --email ada@example.com --ssh-key ~/.ssh/id_work --organization acme":
        "For the repositories of acme.",
      "trunkline identity add oss --provider gitlab --user ada --email ada@example.org --signing ssh --signing-key ~/.ssh/id_oss.pub":
        "Signs commits with an SSH key.",
    },
    load: async () => ({ run: (await import("./edit.ts")).add }),
  },
  {
    name: "edit",
    summary: "Change an identity",
    description:
      "Changes only the settings that you name. An empty value, as in --host=, removes one.",
    args: [name],
    options: { ...changes, json },
    examples: {
      "trunkline identity edit work --email ada@acme.example": "Change the email address.",
    },
    load: async () => ({ run: (await import("./edit.ts")).edit }),
  },
  {
    name: "remove",
    summary: "Remove an identity from the configuration",
    description: "Repositories that were switched to it are not changed.",
    args: [name],
    options: { json },
    examples: { "trunkline identity remove old": "Remove it." },
    load: async () => ({ run: (await import("./edit.ts")).remove }),
  },
  {
    name: "import",
    summary: "Import identities from RemoteJuggler",
    description:
      "Settings that Trunkline does not use are kept under `x-juggler`. Secrets are not imported; " +
      "the command lists them.",
    args: [arg("FILE", "RemoteJuggler's config.json")],
    options: {
      force: flag("Replace identities that have the same name"),
      "dry-run": dryRun,
      json,
    },
    examples: {
      "trunkline identity import ~/.config/remote-juggler/config.json":
        "Import RemoteJuggler's own configuration.",
    },
    load: async () => ({ run: (await import("./import.ts")).importFile }),
  },
  {
    name: "export",
    summary: "Print the identities as RemoteJuggler's config.json",
    options: { json: flag("Accepted; the output is always JSON") },
    examples: { "trunkline identity export > config.json": "Take them to another machine." },
    load: async () => ({ run: (await import("./import.ts")).exportFile }),
  },
];

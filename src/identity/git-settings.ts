import { TrunklineError } from "../base/errors.ts";
import { authorOf, type Identity } from "./identity.ts";

/** A key of git's configuration and all values that it is to have. */
export interface GitSetting {
  readonly key: string;
  readonly values: readonly string[];
}

export interface GitSettingsOptions {
  /** What git is to ask for passwords, and nobody else: a command as `credential.helper` takes it. */
  readonly credentialHelper?: string;
  /** Leaves signing as it is. */
  readonly keepSigning?: boolean;
}

/** The key that says which identity a configuration was made for. */
export const IDENTITY_KEY = "trunkline.identity";

/**
 * The key that lists what else a switch has set in a file. The next one takes away what its identity
 * has no use for, and nothing that somebody else has set.
 */
export const SWITCHED_KEYS = "trunkline.sets";

/** Keys that not every identity has a use for. */
export const OPTIONAL_KEYS = [
  "user.signingKey",
  "gpg.format",
  "commit.gpgSign",
  "tag.gpgSign",
  "core.sshCommand",
  "credential.helper",
  "credential.useHttpPath",
] as const;

/** What git has to be told to act as an identity. Signing is always spoken of: it must not be
 * somebody else's. */
export function gitSettings(identity: Identity, options: GitSettingsOptions = {}): GitSetting[] {
  const { name, email } = authorOf(identity);
  const { signing, sshKey } = identity;
  const settings: GitSetting[] = [
    { key: IDENTITY_KEY, values: [identity.name] },
    { key: "user.name", values: [name] },
    { key: "user.email", values: [email] },
  ];
  const mustSet = options.keepSigning !== true;
  if (signing !== undefined && mustSet) {
    settings.push(
      { key: "gpg.format", values: [signing.format] },
      { key: "user.signingKey", values: [signingKey(identity)] },
    );
  }
  if (mustSet) {
    settings.push(
      { key: "commit.gpgSign", values: [String(signing?.signCommits ?? signing !== undefined)] },
      { key: "tag.gpgSign", values: [String(signing?.signTags ?? false)] },
    );
  }
  if (sshKey !== undefined) settings.push({ key: "core.sshCommand", values: [sshCommand(sshKey)] });
  if (options.credentialHelper !== undefined) {
    settings.push(
      // The empty one forgets all helpers that were named before.
      { key: "credential.helper", values: ["", options.credentialHelper] },
      { key: "credential.useHttpPath", values: ["true"] },
    );
  }
  return settings;
}

/** Without a key of its own, gpg finds one by the address, and ssh signs with what it logs in with. */
function signingKey(identity: Identity): string {
  const { signing, sshKey, email = "" } = identity;
  if (signing?.key !== undefined) return signing.key;
  if (signing?.format !== "ssh") return email;
  if (sshKey !== undefined) return sshKey;
  const next = `Set it with \`trunkline identity edit ${identity.name} --signing-key FILE\``;
  throw new TrunklineError(
    "config",
    `Identity '${identity.name}' has no key to sign with. ${next}`,
  );
}

/** How git is to call ssh so that it shows this key before any other. Git has a shell read it. */
export function sshCommand(key: string): string {
  return `ssh ${keyOption(key)} -o IdentitiesOnly=yes`;
}

/** Of `%`, ssh takes what follows for a token, and `-i` does not know how to write it. */
function keyOption(key: string): string {
  if (!key.includes("%")) return `-i ${shellQuote(key)}`;
  const quoted = key.replaceAll("%", "%%").replaceAll(/["\\]/g, "\\$&");
  return `-o ${shellQuote(`IdentityFile="${quoted}"`)}`;
}

export function shellQuote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

import { TrunklineError } from "../base/errors.ts";
import { shellQuote } from "../base/text/shell-word.ts";
import { authorOf, type Identity } from "./identity.ts";

/** A key of git's configuration and all its values. */
export interface GitSetting {
  readonly key: string;
  readonly values: readonly string[];
}

export interface GitSettingsOptions {
  /** The only credential helper that git should use, as a value of `credential.helper`. */
  readonly credentialHelper?: string;
  /** A file to include, which sets the credential helper as soon as there is a token. */
  readonly helperFile?: string;
  /** The file that git verifies SSH signatures with. */
  readonly signersFile?: string;
  /** Leaves signing as it is. */
  readonly keepSigning?: boolean;
}

/** The key that names the identity of a configuration. */
export const IDENTITY_KEY = "trunkline.identity";

/**
 * The key that lists the optional keys which a switch has set in a file. The next switch removes
 * those that its identity does not need, and no keys that somebody else has set.
 */
export const SWITCHED_KEYS = "trunkline.sets";

export const SIGNERS_KEY = "gpg.ssh.allowedSignersFile";

/** Includes a file in every repository. Unlike `include.path`, nobody else uses this key. */
const INCLUDED_HELPER = "includeIf.gitdir:/.path";

/** Keys that not every identity needs. */
export const OPTIONAL_KEYS = [
  "user.signingKey",
  "gpg.format",
  SIGNERS_KEY,
  "commit.gpgSign",
  "tag.gpgSign",
  "core.sshCommand",
  "credential.helper",
  "credential.useHttpPath",
  INCLUDED_HELPER,
] as const;

/**
 * The settings that make git use an identity. Signing is always set, so that commits are not signed
 * with another identity's key.
 */
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
  const { credentialHelper, helperFile, signersFile } = options;
  if (mustSet && signing?.format === "ssh" && signersFile !== undefined) {
    settings.push({ key: SIGNERS_KEY, values: [signersFile] });
  }
  if (credentialHelper !== undefined) settings.push(...helperSettings(credentialHelper));
  else if (helperFile !== undefined) settings.push({ key: INCLUDED_HELPER, values: [helperFile] });
  return settings;
}

/** The settings that make git ask one helper, and no other. */
export function helperSettings(helper: string): GitSetting[] {
  return [
    // An empty value clears the list of helpers (gitcredentials(7)).
    { key: "credential.helper", values: ["", helper] },
    { key: "credential.useHttpPath", values: ["true"] },
  ];
}

/**
 * Without a signing key, gpg chooses one by the email address, and ssh signs with the login key.
 */
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

/** The value of `core.sshCommand` that makes ssh offer this key first. A shell parses it. */
export function sshCommand(key: string): string {
  return `ssh ${keyOption(key)} -o IdentitiesOnly=yes`;
}

/**
 * ssh expands `%` tokens in file names, and `-i` has no way to escape them (ssh_config(5), TOKENS).
 */
function keyOption(key: string): string {
  if (!key.includes("%")) return `-i ${shellQuote(key)}`;
  const quoted = key.replaceAll("%", "%%").replaceAll(/["\\]/g, "\\$&");
  return `-o ${shellQuote(`IdentityFile="${quoted}"`)}`;
}

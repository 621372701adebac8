import { TrunklineError } from "../base/errors.ts";
import { shellQuote } from "../base/text/shell-word.ts";
import { type Author, authorVariables } from "../git/git.ts";
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
  /** The folder of hooks to run instead of the repository's. */
  readonly hooks?: string;
}

/** The key that names the identity of a configuration. */
export const IDENTITY_KEY = "trunkline.identity";

/**
 * The key that lists the optional keys which a switch has set in a file. The next switch removes
 * those that its identity does not need, and no keys that somebody else has set.
 */
export const SWITCHED_KEYS = "trunkline.sets";

const HOOKS_KEY = "core.hooksPath";

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
  if (mustSet) {
    if (signing !== undefined) {
      settings.push({ key: "gpg.format", values: [signing.format] });
      settings.push({ key: "user.signingKey", values: [signingKey(identity)] });
    }
    settings.push(
      { key: "commit.gpgSign", values: [String(signing?.signCommits ?? signing !== undefined)] },
      { key: "tag.gpgSign", values: [String(signing?.signTags ?? false)] },
    );
  }
  if (sshKey !== undefined) settings.push({ key: "core.sshCommand", values: [sshCommand(sshKey)] });
  const { credentialHelper, helperFile, signersFile, hooks } = options;
  if (mustSet && signing?.format === "ssh" && signersFile !== undefined) {
    settings.push({ key: SIGNERS_KEY, values: [signersFile] });
  }
  if (hooks !== undefined) settings.push({ key: HOOKS_KEY, values: [hooks] });
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
  const says = `Identity '${identity.name}' has no key to sign with. ${next}`;
  throw new TrunklineError("config", says);
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

/** Besides an identity's keys: whom commits name, if that is not the identity. */
export interface ActingOptions extends GitSettingsOptions {
  readonly author?: Author;
  readonly committer?: Author;
}

interface EnvironmentOptions extends ActingOptions {
  /** The environment to extend; settings for git that it already has stay. */
  readonly base?: NodeJS.ProcessEnv;
}

/** Environment changes that make a process use an identity, without changing files. */
export interface EnvironmentPlan {
  readonly set: Readonly<Record<string, string>>;
  /** Variables that would override the identity. */
  readonly unset: readonly string[];
}

/**
 * The variables that make git use an identity, in a process and everything it starts. Variables
 * override all files, so agents with different identities can work side by side.
 */
export function environmentPlan(
  identity: Identity,
  options: EnvironmentOptions = {},
): EnvironmentPlan {
  const own = authorOf(identity);
  const settings = gitSettings(identity, options);
  const { base = {}, author = own, committer = own } = options;
  const set: Record<string, string> = {
    TRUNKLINE_IDENTITY: identity.name,
    ...authorVariables(author, committer),
  };
  const former = formerSettings(base);
  let count = former?.start ?? countOf(base);
  for (const { key, values } of settings) {
    for (const value of values) {
      set[`GIT_CONFIG_KEY_${count}`] = key;
      set[`GIT_CONFIG_VALUE_${count}`] = value;
      count++;
    }
  }
  set.GIT_CONFIG_COUNT = String(count);
  const unset = ["GIT_SSH"];
  for (let at = count; at < countOf(base); at++) {
    unset.push(`GIT_CONFIG_KEY_${at}`, `GIT_CONFIG_VALUE_${at}`);
  }
  const ssh = settings.find(({ key }) => key === "core.sshCommand")?.values[0];
  // This variable overrides the setting, so another identity's value must not stay.
  if (ssh !== undefined) set.GIT_SSH_COMMAND = ssh;
  else if (former !== undefined && former.ssh === base.GIT_SSH_COMMAND)
    unset.push("GIT_SSH_COMMAND");
  return { set, unset: unset.filter((variable) => base[variable] !== undefined) };
}

interface FormerSettings {
  /** The index of the first one. */
  readonly start: number;
  readonly ssh: string | undefined;
}

/** The settings of another identity that the environment already has, if they are the last ones. */
function formerSettings(base: NodeJS.ProcessEnv): FormerSettings | undefined {
  const keys = Array.from({ length: countOf(base) }, (_, at) => base[`GIT_CONFIG_KEY_${at}`] ?? "");
  const start = keys.indexOf(IDENTITY_KEY);
  if (start < 0) return undefined;
  const plain = [IDENTITY_KEY, "user.name", "user.email", HOOKS_KEY];
  const ours = new Set<string>([...plain, ...OPTIONAL_KEYS]);
  if (!keys.slice(start).every((key) => ours.has(key))) return undefined;
  const ssh = keys.lastIndexOf("core.sshCommand");
  return { start, ssh: ssh < start ? undefined : base[`GIT_CONFIG_VALUE_${ssh}`] };
}

/** An environment with the plan carried out. */
export function withIdentity(
  identity: Identity,
  base: NodeJS.ProcessEnv,
  options: ActingOptions = {},
): NodeJS.ProcessEnv {
  const { set, unset } = environmentPlan(identity, { ...options, base });
  const env: NodeJS.ProcessEnv = { ...base, ...set };
  for (const variable of unset) delete env[variable];
  return env;
}

/** An environment in which git runs the hooks of a folder, if there is one. */
export function withHooks(folder: string | undefined, base: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (folder === undefined) return base;
  const at = countOf(base);
  const setting = { [`GIT_CONFIG_KEY_${at}`]: HOOKS_KEY, [`GIT_CONFIG_VALUE_${at}`]: folder };
  return { ...base, ...setting, GIT_CONFIG_COUNT: String(at + 1) };
}

/** The identity that an environment was prepared for. */
export function identityOfEnvironment(env: NodeJS.ProcessEnv): string | undefined {
  let found: string | undefined;
  for (let at = 0; at < countOf(env); at++) {
    if (env[`GIT_CONFIG_KEY_${at}`] === IDENTITY_KEY) found = env[`GIT_CONFIG_VALUE_${at}`];
  }
  return found ?? env.TRUNKLINE_IDENTITY;
}

function countOf(env: NodeJS.ProcessEnv): number {
  const count = Number(env.GIT_CONFIG_COUNT ?? 0);
  return Number.isSafeInteger(count) && count > 0 ? count : 0;
}

import {
  gitSettings,
  type GitSettingsOptions,
  IDENTITY_KEY,
  OPTIONAL_KEYS,
} from "./git-settings.ts";
import { authorOf, type Identity } from "./identity.ts";

export interface EnvironmentOptions extends GitSettingsOptions {
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
  const { name, email } = authorOf(identity);
  const settings = gitSettings(identity, options);
  const set: Record<string, string> = {
    TRUNKLINE_IDENTITY: identity.name,
    GIT_AUTHOR_NAME: name,
    GIT_AUTHOR_EMAIL: email,
    GIT_COMMITTER_NAME: name,
    GIT_COMMITTER_EMAIL: email,
  };
  const { base = {} } = options;
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
  const count = countOf(base);
  const keys = Array.from({ length: count }, (_, at) => base[`GIT_CONFIG_KEY_${at}`] ?? "");
  const start = keys.indexOf(IDENTITY_KEY);
  if (start < 0) return undefined;
  const ours = new Set<string>([IDENTITY_KEY, "user.name", "user.email", ...OPTIONAL_KEYS]);
  if (!keys.slice(start).every((key) => ours.has(key))) return undefined;
  const ssh = keys.lastIndexOf("core.sshCommand");
  return { start, ssh: ssh < start ? undefined : base[`GIT_CONFIG_VALUE_${ssh}`] };
}

/** An environment with the plan carried out. */
export function withIdentity(
  identity: Identity,
  base: NodeJS.ProcessEnv,
  options: GitSettingsOptions = {},
): NodeJS.ProcessEnv {
  const { set, unset } = environmentPlan(identity, { ...options, base });
  const env: NodeJS.ProcessEnv = { ...base, ...set };
  for (const variable of unset) delete env[variable];
  return env;
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

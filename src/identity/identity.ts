import { join } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { homeOf } from "../base/process/environment.ts";
import { suggest } from "../base/text/suggest.ts";

const PROVIDERS = ["github", "gitlab", "bitbucket", "other"] as const;
export type Provider = (typeof PROVIDERS)[number];

/** `openpgp` is what git calls GPG; it refuses every commit where the format is `gpg`. */
export type SigningFormat = "openpgp" | "ssh";

export interface Signing {
  readonly format: SigningFormat;
  /** Of OpenPGP the id of a key, of ssh a file; without one, what fits the identity. */
  readonly key?: string;
  readonly signCommits?: boolean;
  readonly signTags?: boolean;
  /** The key lives in a device. */
  readonly hardware?: boolean;
  /** When the device wants to be touched, as its maker calls it: "on", "cached", "off". */
  readonly touchPolicy?: string;
}

/** Where the token of an identity comes from. The token itself is never part of it. */
export interface TokenSource {
  readonly kind: "keychain" | "environment" | "command-line" | "none";
  /** With `environment`: the variable. */
  readonly variable?: string;
  /** With `keychain`: the name of the service it is kept under. */
  readonly service?: string;
}

/** Which repositories an identity is for: those that fit all that a rule says. */
export interface MatchRule {
  readonly host?: string;
  readonly owner?: string;
  /** A folder, which stands for all that is in it. */
  readonly path?: string;
  /** The address of a remote. */
  readonly remote?: string;
}

/** An identity as it is written in a configuration. */
export interface IdentitySettings {
  readonly provider: Provider;
  readonly host?: string;
  readonly sshHost?: string;
  readonly user?: string;
  readonly email?: string;
  readonly displayName?: string;
  readonly sshKey?: string;
  readonly signing?: Signing;
  readonly tokenSource?: TokenSource;
  readonly organizations?: readonly string[];
  readonly match?: readonly MatchRule[];
  /** What RemoteJuggler knew of it and Trunkline has no use for. */
  readonly "x-juggler"?: Readonly<Record<string, unknown>>;
}

/** Who somebody is to git, to a forge and to whoever checks a signature. */
export interface Identity {
  readonly name: string;
  readonly provider: Provider;
  /** In small letters; nothing where only an alias is known. */
  readonly host: string | undefined;
  /** A name of the host that only ssh knows, and finds the right key by. */
  readonly sshHost: string | undefined;
  readonly user: string | undefined;
  readonly email: string | undefined;
  /** The name that commits bear. */
  readonly displayName: string | undefined;
  /** Absolute. */
  readonly sshKey: string | undefined;
  readonly signing: Signing | undefined;
  readonly tokenSource: TokenSource;
  readonly organizations: readonly string[];
  readonly match: readonly MatchRule[];
  readonly settings: IdentitySettings;
}

const HOSTS: Readonly<Partial<Record<Provider, string>>> = {
  github: "github.com",
  gitlab: "gitlab.com",
  bitbucket: "bitbucket.org",
};

/** An identity with all that its settings leave unsaid. */
export function resolveIdentity(
  name: string,
  settings: IdentitySettings,
  env: NodeJS.ProcessEnv = process.env,
): Identity {
  const { provider, signing } = settings;
  const key = signing?.key;
  const sshKey = settings.sshKey && expandHome(settings.sshKey, env);
  return {
    name,
    provider,
    host: (settings.host ?? HOSTS[provider])?.toLowerCase(),
    sshHost: settings.sshHost?.toLowerCase(),
    user: settings.user,
    email: settings.email,
    displayName: settings.displayName ?? settings.user,
    sshKey,
    signing: signing && {
      ...signing,
      ...(key !== undefined && signing.format === "ssh" ? { key: expandHome(key, env) } : {}),
    },
    tokenSource: settings.tokenSource ?? { kind: "keychain" },
    organizations: settings.organizations ?? [],
    match: (settings.match ?? []).map((rule) => {
      return rule.path === undefined ? rule : { ...rule, path: expandHome(rule.path, env) };
    }),
    settings,
  };
}

export function resolveIdentities(
  settings: Readonly<Record<string, IdentitySettings>>,
  env: NodeJS.ProcessEnv = process.env,
): Identity[] {
  return Object.entries(settings).map(([name, each]) => resolveIdentity(name, each, env));
}

/** Throws "not-found", with what may have been meant. */
export function findIdentity(identities: readonly Identity[], name: string): Identity {
  const found = identities.find((identity) => identity.name === name);
  if (found !== undefined) return found;
  const names = identities.map((identity) => identity.name);
  const [near] = suggest(name, names);
  const next =
    names.length === 0
      ? "None is configured: add one with `trunkline identity add`."
      : `${near === undefined ? "" : `Did you mean '${near}'? `}Configured: ${names.join(", ")}.`;
  throw new TrunklineError("not-found", `There is no identity '${name}'. ${next}`);
}

/** Who commits are by. Throws "config" where the identity does not say. */
export function authorOf(identity: Identity): { readonly name: string; readonly email: string } {
  const { name, displayName, email } = identity;
  const missing = email === undefined ? "email" : displayName === undefined ? "user" : undefined;
  if (missing === undefined) return { name: displayName ?? "", email: email ?? "" };
  const next = `Set it with \`trunkline identity edit ${name} --${missing} …\``;
  throw new TrunklineError("config", `Identity '${name}' has no ${missing}. ${next}`);
}

function expandHome(path: string, env: NodeJS.ProcessEnv): string {
  if (path !== "~" && !path.startsWith("~/")) return path;
  return join(homeOf(env), path.slice(1));
}

import { join } from "node:path";

import { normalHost } from "../base/address.ts";
import { TrunklineError } from "../base/errors.ts";
import { homeOf } from "../base/process/environment.ts";
import { type RemoteUrl, USUAL_PORTS } from "../base/remote-url.ts";
import { shellWord } from "../base/text/shell-word.ts";
import { suggest } from "../base/text/suggest.ts";
import type {
  IdentitySettings,
  MatchRule,
  SigningSettings as Signing,
  TokenSource,
} from "../config/schema/schema.gen.ts";

// As a configuration has them: `settings-schema.ts` declares them.
export type { IdentitySettings, MatchRule, Signing, TokenSource };
export type Provider = IdentitySettings["provider"];
export type SigningFormat = Signing["format"];

/** Who somebody is to git, to a forge and in signatures. */
export interface Identity {
  readonly name: string;
  readonly provider: Provider;
  /** Lower case; undefined if only an SSH alias is known. */
  readonly host: string | undefined;
  /** An alias of the host in the SSH configuration, which selects the key. */
  readonly sshHost: string | undefined;
  readonly user: string | undefined;
  readonly email: string | undefined;
  /** The author's name in commits. */
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

/** An identity with all defaults filled in. */
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

/** Throws "not-found", with suggestions. */
export function findIdentity(identities: readonly Identity[], name: string): Identity {
  const found = identities.find((identity) => identity.name === name);
  if (found !== undefined) return found;
  const names = identities.map((identity) => identity.name);
  const [near] = suggest(name, names);
  const add = `trunkline identity add ${shellWord(name)} --provider github --user ACCOUNT --email ADDRESS`;
  const next = [
    ...(near === undefined ? [] : [`Did you mean '${near}'?`]),
    names.length === 0 ? "None is configured." : `Configured: ${names.join(", ")}.`,
    ...(near === undefined ? [`\`${add}\` adds it.`] : []),
  ].join(" ");
  throw new TrunklineError("not-found", `There is no identity '${name}'. ${next}`);
}

/** The author of commits. Throws "config" if the identity lacks a name or an address. */
export function authorOf(identity: Identity): { readonly name: string; readonly email: string } {
  const { name, displayName, email } = identity;
  const missing = email === undefined ? "email" : displayName === undefined ? "user" : undefined;
  if (missing === undefined) return { name: displayName ?? "", email: email ?? "" };
  const next = `Set it with \`trunkline identity edit ${name} --${missing} …\``;
  throw new TrunklineError("config", `Identity '${name}' has no ${missing}. ${next}`);
}

export function expandHome(path: string, env: NodeJS.ProcessEnv): string {
  if (path !== "~" && !path.startsWith("~/")) return path;
  return join(homeOf(env), path.slice(1));
}

/** A place that a URL leads to. */
type UrlHost = Pick<RemoteUrl, "transport" | "host" | "port">;

/**
 * How an identity's host fits a URL. "exact": it is the same server, so a token may go there.
 * "name": only the name is the same, because the identity has no port and the URL has one.
 */
type HostFit = "exact" | "name";

/**
 * Compares the host of an identity, such as `git.corp:8443`, with that of a URL. Its port is that of
 * the web server. ssh listens on another one, so for ssh only the names count.
 */
export function hostFit(own: string | undefined, url: UrlHost): HostFit | undefined {
  if (own === undefined || url.host === undefined) return undefined;
  const { name, port } = splitHost(own);
  if (name !== splitHost(url.host).name) return undefined;
  const usual = USUAL_PORTS[url.transport];
  if (url.transport === "ssh" || (port ?? usual) === (url.port ?? usual)) return "exact";
  return port === undefined ? "name" : undefined;
}

/** `git.corp:8443`, `[::1]:8443` or an address without brackets, in its parts. */
export function splitHost(text: string): {
  readonly name: string;
  readonly port: number | undefined;
} {
  const [, given = `[${text}]`, port] = /^(\[[^\]]*\]|[^:]*)(?::(\d+))?$/.exec(text) ?? [];
  const name = normalHost(given) ?? text.toLowerCase();
  return { name, port: port === undefined ? undefined : Number(port) };
}

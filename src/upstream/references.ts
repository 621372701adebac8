import { homedir } from "node:os";

import { defined } from "../base/defined.ts";
import { TrunklineError } from "../base/errors.ts";
import { holdSecret, holdSecrets } from "../base/text/mask.ts";
import type { UpstreamSettings } from "./settings.ts";

/** The sources of the values that settings refer to. */
export interface References {
  readonly env: NodeJS.ProcessEnv;
  /** The project of the caller; the folder of this process where it is for none. */
  readonly folder?: string;
  /** A secret by its name; undefined if there is none. */
  readonly secret: (name: string) => Promise<string | undefined>;
  /** The token of an identity, for an address. Throws where that may not get it. */
  readonly token: (identity: string, address: URL) => Promise<string>;
}

/** `${NAME}`, `${env:NAME}`, `${NAME:-default}`, `${input:…}`, `${keychain:…}` and `${identity:…}`. */
const REFERENCE = /\$\{(?:(env|input|keychain|identity):)?([\w.-]+)(?::-([^}]*))?\}/g;

/**
 * The settings of a server with the values that they refer to, as the configurations of editors have
 * it. This is done just before each start, so that secrets are nowhere but in what is started.
 */
export async function withReferences(
  settings: UpstreamSettings,
  references: References,
): Promise<UpstreamSettings> {
  let to: URL | undefined;
  const { folder } = settings;
  const known = folder === undefined ? references : { ...references, folder };
  const text = (key: string, value: string): Promise<string> => {
    return resolve(key, value, known, to);
  };
  const address = async (value: string): Promise<string> => {
    const url = await text("url", value);
    to = /^https?:\/\//.test(url) ? (URL.parse(url) ?? undefined) : undefined;
    if (to !== undefined) return url;
    throw new TrunklineError("config", "Its 'url' is not the address of a web server");
  };
  const withSecret = async <T extends { readonly clientSecret?: string }>(key: string, of?: T) => {
    if (of?.clientSecret === undefined) return of;
    return { ...of, clientSecret: await text(`${key}.clientSecret`, of.clientSecret) };
  };
  if ("openapi" in settings) {
    const openapi = await text("openapi", settings.openapi);
    const url = settings.url === undefined ? undefined : await address(settings.url);
    // A document of the web is called at its own origin only.
    if (url === undefined && /^https?:\/\//i.test(openapi)) to = URL.parse(openapi) ?? undefined;
    return {
      ...settings,
      openapi,
      ...(url === undefined ? {} : { url }),
      headers: await resolveTexts("headers", settings.headers, known, to),
      auth: await resolveTexts("auth", settings.auth, known, to),
    };
  }
  if ("url" in settings) {
    const url = await address(settings.url);
    const headers = await resolveTexts("headers", settings.headers, known, to);
    const own = await withSecret("oauth", settings.oauth);
    const provider = await withSecret("oauth.identityProvider", own?.identityProvider);
    const oauth = provider === undefined ? own : { ...own, identityProvider: provider };
    return { ...settings, url, headers, ...defined({ oauth }) };
  }
  const args: string[] = [];
  for (const arg of settings.args ?? []) args.push(await text("args", arg));
  const { cwd, envFile } = settings;
  return {
    ...settings,
    args,
    env: await resolveTexts("env", settings.env, known),
    ...(cwd === undefined ? {} : { cwd: await text("cwd", cwd) }),
    ...(envFile === undefined ? {} : { envFile: await text("envFile", envFile) }),
  };
}

/** The names of the secrets that settings refer to. */
export function secretNames(settings: unknown): string[] {
  const names = new Set<string>();
  // The text of all of them is read at once: a reference has nothing that JSON would escape.
  for (const [, kind, name = ""] of JSON.stringify(settings ?? null).matchAll(REFERENCE)) {
    if (kind === "keychain" || kind === "input") names.add(name);
  }
  return [...names];
}

/**
 * Texts by name with the values that they refer to. `key` is where they are in the settings, and `to` is
 * where they are sent: without it, they may have no token of an identity.
 */
export async function resolveTexts(
  key: string,
  texts: Readonly<Record<string, string>> | undefined,
  references: References,
  to?: URL,
): Promise<Record<string, string>> {
  const found: Record<string, string> = {};
  for (const [name, value] of Object.entries(texts ?? {})) {
    found[name] = await resolve(`${key}.${name}`, value, references, to);
  }
  return found;
}

async function resolve(
  key: string,
  text: string,
  references: References,
  to: URL | undefined,
): Promise<string> {
  if (!text.includes("${")) return text;
  let resolved = "";
  let end = 0;
  for (const match of text.matchAll(REFERENCE)) {
    const [whole, kind, name = "", fallback] = match;
    const value =
      kind === "identity"
        ? await tokenOf(key, name, references, to)
        : ((await valueOf(kind, name, references)) ?? fallback);
    if (value === undefined) throw missing(key, whole, kind, name);
    if (kind === undefined || kind === "env") holdSecrets({ [name]: value });
    else holdSecret(value);
    resolved += text.slice(end, match.index) + value;
    end = match.index + whole.length;
  }
  resolved += text.slice(end);
  const [field = "", ...names] = key.split(".");
  holdSecrets({ [field]: { [names.join(".")]: resolved } });
  return resolved;
}

async function tokenOf(
  key: string,
  name: string,
  { token }: References,
  to: URL | undefined,
): Promise<string> {
  if (to !== undefined) return await token(name, to);
  const why = "it is only known for a server with a 'url' where that may be sent";
  throw new TrunklineError(
    "config",
    `Its '${key}' has the token of identity '${name}', but ${why}`,
  );
}

async function valueOf(
  kind: string | undefined,
  name: string,
  { env, secret, folder = process.cwd() }: References,
): Promise<string | undefined> {
  if (kind === "keychain" || kind === "input") return secret(name);
  // VS Code and its relatives have these two.
  if (kind === undefined && name === "userHome") return homedir();
  if (kind === undefined && name === "workspaceFolder") return folder;
  return env[name] || undefined;
}

function missing(
  key: string,
  whole: string,
  kind: string | undefined,
  name: string,
): TrunklineError {
  const isSecret = kind === "keychain" || kind === "input";
  const why = isSecret
    ? `no such secret is stored. Store it with \`trunkline model key set ${name}\``
    : `the variable ${name} is not set`;
  return new TrunklineError("config", `Its '${key}' refers to ${whole}, but ${why}`);
}

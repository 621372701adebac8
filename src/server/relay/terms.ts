import { VERSION } from "../../base/version.ts";
import type { Config } from "../../config/config.ts";

/** The settings and variables that must be equal for one process to serve the clients of another. */
export interface Terms {
  readonly version: string;
  /** The settings, as text. */
  readonly settings: string;
  /** Those that are set, by name. */
  readonly variables: Readonly<Record<string, string>>;
}

/** Variables that servers, tools and git read. A process that lacks one is served with the gateway's. */
const USED: ReadonlySet<string> = new Set([
  ...["PATH", "HOME", "LANG", "LANGUAGE", "TZ", "TMPDIR"],
  ...["XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"],
  ...["SSH_AUTH_SOCK", "SSH_ASKPASS", "DBUS_SESSION_BUS_ADDRESS", "GNUPGHOME"],
  ...["NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR"],
  ...["http_proxy", "https_proxy", "no_proxy", "all_proxy"],
  ...["HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY"],
]);
/** Variables that change results: a process that lacks one is not served by a gateway that has it. */
const DECIDING: ReadonlySet<string> = new Set([
  "TRUNKLINE_IDENTITY",
  "TRUNKLINE_GUARD",
  "TRUNKLINE_TOKEN_STORE",
]);
/** A variable that a setting refers to. */
const REFERENCE = /\$\{(?:env:)?([A-Za-z_]\w*)/g;

/** The terms of a process. */
export function termsOf(config: Config, env: NodeJS.ProcessEnv): Terms {
  // The address and the log of the gateway do not affect its tools.
  const { serve: _serve, log: _log, data: _data, ...settings } = config;
  const text = JSON.stringify(settings);
  const named = namedVariables(config, text);
  const variables: Record<string, string> = {};
  for (const name of Object.keys(env)) {
    const value = env[name];
    if (value !== undefined && (isUsed(name) || isDeciding(name) || named.has(name))) {
      variables[name] = value;
    }
  }
  return { version: VERSION, settings: text, variables };
}

/**
 * Why a gateway cannot serve another process, in words that complete "The gateway …"; undefined if it
 * can. A process with other settings, variables or another version serves its client itself.
 */
export function differenceOf(ours: Terms, theirs: Terms): string | undefined {
  if (theirs.version !== ours.version) return `is version ${ours.version}`;
  if (theirs.settings !== ours.settings) return "has another configuration";
  const names = new Set([...Object.keys(ours.variables), ...Object.keys(theirs.variables)]);
  for (const name of names) {
    const their = theirs.variables[name];
    if (their === ours.variables[name] || (their === undefined && isUsed(name))) continue;
    return `has another ${name} in its environment`;
  }
  return undefined;
}

function isUsed(name: string): boolean {
  return USED.has(name) || name.startsWith("LC_");
}

function isDeciding(name: string): boolean {
  return DECIDING.has(name) || name.startsWith("GIT_");
}

/** The variables that the configuration names. */
function namedVariables({ identities }: Config, settings: string): Set<string> {
  const names = new Set(Array.from(settings.matchAll(REFERENCE), ([, name = ""]) => name));
  for (const { tokenSource } of Object.values(identities)) {
    if (tokenSource?.variable !== undefined) names.add(tokenSource.variable);
  }
  return names;
}

import { VERSION } from "../../base/version.ts";
import { hashOf } from "../../upstream/catalogue-key.ts";
import type { Config } from "../config/config.ts";

/**
 * What must be the same in two processes, so that one can serve the clients of the other. Values are
 * hashes: they may be secrets.
 */
export interface Terms {
  readonly version: string;
  readonly settings: string;
  /** By name; only those that are set. */
  readonly variables: Readonly<Record<string, string>>;
}

/** Variables that tools, servers and git go by. A window that lacks one can be served with ours. */
const USED =
  /^(?:PATH|HOME|LANG|LANGUAGE|LC_\w+|TZ|TMPDIR|XDG_(?:CONFIG|DATA|STATE|CACHE)_HOME|SSH_AUTH_SOCK|SSH_ASKPASS|DBUS_SESSION_BUS_ADDRESS|GNUPGHOME|NODE_EXTRA_CA_CERTS|SSL_CERT_(?:FILE|DIR)|(?:https?|no|all)_proxy|(?:HTTPS?|NO|ALL)_PROXY)$/;
/** Variables that somebody sets to have another result, so that leaving one out has a meaning too. */
const DECIDING = /^(?:GIT_\w+|TRUNKLINE_(?:IDENTITY|GUARD|TOKEN_STORE))$/;
/** A variable that a setting refers to. */
const REFERENCE = /\$\{(?:env:)?([A-Za-z_]\w*)/g;

/** The terms of a process. */
export function termsOf(config: Config, env: NodeJS.ProcessEnv): Terms {
  // How the gateway itself is reached, and what it logs, is no concern of its tools.
  const { server: _server, serve: _serve, log: _log, data: _data, ...settings } = config;
  const named = namedVariables(config);
  const variables = Object.entries(env).filter(([name]) => {
    return USED.test(name) || DECIDING.test(name) || named.has(name);
  });
  return {
    version: VERSION,
    settings: hashOf(JSON.stringify([settings, [...named].toSorted()])),
    variables: Object.fromEntries(variables.map(([name, value = ""]) => [name, hashOf(value)])),
  };
}

/**
 * Why a gateway cannot serve a window, in words that complete "The gateway …"; undefined if it can.
 * Whoever has other settings, another version or other variables serves itself.
 */
export function differenceOf(ours: Terms, theirs: Terms): string | undefined {
  if (theirs.version !== ours.version) return `is version ${ours.version}`;
  if (theirs.settings !== ours.settings) return "has another configuration";
  const names = new Set([...Object.keys(ours.variables), ...Object.keys(theirs.variables)]);
  for (const name of names) {
    const their = theirs.variables[name];
    if (their === ours.variables[name]) continue;
    if (their === undefined && USED.test(name)) continue;
    return `has another ${name} in its environment`;
  }
  return undefined;
}

/** The variables that the configuration names. */
function namedVariables({ mcpServers, bus, identities }: Config): Set<string> {
  const text = JSON.stringify([mcpServers, bus]);
  const names = new Set(Array.from(text.matchAll(REFERENCE), ([, name = ""]) => name));
  for (const { tokenSource } of Object.values(identities)) {
    if (tokenSource?.variable !== undefined) names.add(tokenSource.variable);
  }
  return names;
}

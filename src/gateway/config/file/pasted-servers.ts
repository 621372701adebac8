import { isValues, type KeyPath, type Values } from "../layer.ts";

/** The keys of an entry of `mcpServers`. A test compares them with the schema. */
export const SERVER_KEYS: ReadonlySet<string> = new Set([
  ...["type", "command", "args", "env", "cwd", "url", "headers", "oauth", "instance"],
  ...["disabled", "timeout", "autoApprove", "openapi", "auth", "include", "exclude"],
]);

/** What other programs call the same keys. */
const OTHER_NAMES: ReadonlyMap<string, string> = new Map([
  ["serverUrl", "url"],
  ["httpUrl", "url"],
  ["alwaysAllow", "autoApprove"],
  ["transport", "type"],
]);

/** What other programs call the same transports. */
const OTHER_TYPES: ReadonlyMap<unknown, string> = new Map([
  ["streamableHttp", "streamable-http"],
  ["streamable_http", "streamable-http"],
  ["remote", "http"],
]);

/**
 * MCP servers as people paste them from the documents of other programs: with the names of their keys,
 * and with keys that mean nothing here. Such a key is reported and left out, so that it does not stop
 * everything else.
 */
export function pastedServers(values: Values, warn: (path: KeyPath, says: string) => void): Values {
  const { mcpServers } = values;
  if (!isValues(mcpServers)) return values;
  const servers = Object.entries(mcpServers).map(([name, settings]) => [
    name,
    isValues(settings) ? pastedServer(settings, ["mcpServers", name], warn) : settings,
  ]);
  return { ...values, mcpServers: Object.fromEntries(servers) };
}

function pastedServer(
  settings: Values,
  path: KeyPath,
  warn: (path: KeyPath, says: string) => void,
): Values {
  const known: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(settings)) {
    const own = OTHER_NAMES.get(key) ?? key;
    if (key === "enabled" && typeof value === "boolean") known.disabled ??= !value;
    else if (!SERVER_KEYS.has(own)) warn([...path, key], "is ignored: it is not a known key");
    else if (own !== key && Object.hasOwn(settings, own)) {
      warn([...path, key], `is ignored: '${own}' is there, too`);
    } else known[own] = own === "type" ? (OTHER_TYPES.get(value) ?? value) : value;
  }
  return known;
}

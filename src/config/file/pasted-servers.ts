import { SERVER_KEYS } from "../config.gen.ts";
import { isValues, type KeyPath, type Values } from "../layer.ts";

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

/** Keys whose values are texts, however they are written. */
const TEXTS: ReadonlySet<string> = new Set(["env", "headers", "args"]);

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
    } else if (own === "type") known[own] = OTHER_TYPES.get(value) ?? value;
    else known[own] = TEXTS.has(own) ? withTexts(value) : value;
  }
  return known;
}

/** A list or a table in which numbers and booleans are texts: `"PORT": 8080` means `"8080"`. */
function withTexts(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(asText);
  if (!isValues(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, asText(each)]));
}

function asText(value: unknown): unknown {
  return typeof value === "number" || typeof value === "boolean" ? String(value) : value;
}

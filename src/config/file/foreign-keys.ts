import { isValues, type ConfigValues } from "../layer.ts";

/** `includeTools`, `enabled_tools`, `available_tools`, `tools`, …; and `excludeTools`, `disabledTools`, … */
const INCLUDED = /^(?:(?:includ|enabl|allow|availabl)(?:ed?)?)?tools$/;
const EXCLUDED = /^(?:exclud|disabl|block|den[iy])(?:ed?|ied)?tools$/;
/** Keys whose names suggest that they hide tools from a model. */
const FILTER = /^(?:(?:includ|enabl|allow|availabl|exclud|disabl|block|den[iy]|hid)\w*|\w*filter)$/;
const FILTERED = /tool|prompt|resource|filter/;

/** Reads the keys of an entry of `mcpServers` that other programs have for what `include`, `oauth` and others are here. */
export function foreignKeys(entry: ConfigValues) {
  const known: Record<string, unknown> = {};
  /** The keys that were understood, as they were written. */
  const understood = new Set<string>();
  /** Keys that switch something off, which cannot be kept. */
  const lost: string[] = [];
  for (const [key, value] of Object.entries(entry)) {
    const plain = key.toLowerCase().replaceAll(/[_-]/g, "");
    const own = INCLUDED.test(plain) ? "include" : EXCLUDED.test(plain) ? "exclude" : undefined;
    if (own !== undefined && isNames(value)) {
      const names = value.map((name) => name.replace(/\(.*/s, ""));
      understood.add(key);
      // In goose's files an empty list means all tools.
      if (names.length === 0 && (own === "exclude" || plain === "availabletools")) continue;
      const others = known[own] ?? entry[own];
      if (others === undefined) known[own] = names;
      else if (own === "exclude" && isNames(others)) known[own] = [...others, ...names];
      else lost.push(key);
    } else if (FILTER.test(plain) && FILTERED.test(plain) && !isEmpty(value)) lost.push(key);
    else if (key === "tool_timeout_sec" && typeof value === "number" && value >= 1) {
      understood.add(key);
      known.timeout ??= Math.min(value, MOST_SECONDS);
    }
  }
  if (entry.openapi === undefined && entry.auth !== undefined) {
    const login = loginOf(entry.auth);
    if (login !== undefined) understood.add("auth");
    if (login !== undefined && login !== "found") known.oauth = login;
  }
  return { known, understood, lost };
}

/** From 1,000 on, a number here is in milliseconds. */
const MOST_SECONDS = 999;

/** Cursor writes the client that is registered at the issuer, and FastMCP that there is a login. */
function loginOf(auth: unknown): ConfigValues | "found" | undefined {
  if (auth === "oauth") return "found";
  if (!isValues(auth)) return undefined;
  const { CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, scopes, ...rest } = auth;
  if (typeof clientId !== "string" || Object.keys(rest).length > 0) return undefined;
  return {
    clientId,
    ...(clientSecret === undefined ? {} : { clientSecret }),
    ...(scopes === undefined ? {} : { scopes }),
  };
}

function isNames(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((name) => typeof name === "string" && name !== "");
}

/** Whether a filter has nothing in it. */
function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined || value === false) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}

/** Keys with names of variables: Codex's and goose's; and that around the headers of Continue. */
export const REFERRING: ReadonlySet<string> = new Set([
  ...["env_vars", "env_keys", "bearer_token_env_var", "env_http_headers", "requestOptions"],
]);

/** What these keys say, as `env` and `headers` have it here. */
export function referencesIn(entry: ConfigValues): Readonly<Record<string, ConfigValues>> {
  const { requestOptions: options, env_http_headers: named, bearer_token_env_var: bearer } = entry;
  const reference = (variable: unknown): string => `\${${String(variable)}}`;
  const passed = [entry.env_vars, entry.env_keys].flat().filter((each) => typeof each === "string");
  const env = passed.map((variable) => [variable, reference(variable)]);
  const headers = [
    ...(isValues(options) && isValues(options.headers) ? Object.entries(options.headers) : []),
    ...(bearer === undefined ? [] : [["Authorization", `Bearer ${reference(bearer)}`]]),
    ...(isValues(named) ? Object.entries(named) : []).map(([name, each]) => [
      name,
      reference(each),
    ]),
  ];
  return {
    ...(env.length > 0 && { env: Object.fromEntries(env) as ConfigValues }),
    ...(headers.length > 0 && { headers: Object.fromEntries(headers) as ConfigValues }),
  };
}

/**
 * What other programs write for `${NAME}`: opencode `{env:NAME}`; Gemini, Continue and Zed `$NAME`, which
 * elsewhere could be part of a password unless it is all of a value, perhaps after `Bearer`.
 */
export function withOwnReferences(text: string, isAnywhere = false): string {
  const own = text.replaceAll(/(?<!\$)\{env:(\w+)\}/g, "${$1}");
  if (isAnywhere) return own.replaceAll(/\$([A-Za-z_]\w*)/g, "${$1}");
  return own.replace(/^([A-Za-z]+ )?\$([A-Z_][A-Z0-9_]*)$/, "$1${$2}");
}

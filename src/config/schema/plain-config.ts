type Check = (value: unknown) => boolean;

const isText: Check = (value) => typeof value === "string";
const isName: Check = (value) => typeof value === "string" && value !== "";

const isServer = withOnly({
  type: (value) => value === "stdio" || value === "local",
  command: isName,
  args: (value) => Array.isArray(value) && value.every(isText),
  env: withEach(isText),
  cwd: isName,
  disabled: (value) => typeof value === "boolean",
});

/**
 * Whether a configuration has nothing but MCP servers that are started, which is what most people
 * configure. What it accepts, the schema accepts too; loading that would take a tenth of a start.
 */
export const isPlainConfig = withOnly({
  $schema: isText,
  mcpServers: withEach((value) => isServer(value) && Object.hasOwn(value as object, "command")),
});

/** An object with no other keys than these. */
function withOnly(checks: Readonly<Record<string, Check>>): Check {
  return (value) =>
    isObject(value) &&
    Object.keys(value).every((key) => Object.hasOwn(checks, key) && checks[key]?.(value[key]));
}

/** An object whose values are all so. */
function withEach(check: Check): Check {
  return (value) => isObject(value) && Object.values(value).every(check);
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

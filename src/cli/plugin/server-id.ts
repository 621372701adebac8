/** An id for a server that was given none: the last word of its command that can be one. */
export function nameOf(words: readonly string[]): string {
  const names = words
    .filter((word) => !word.startsWith("-"))
    .map((word) => (word.split("/").at(-1) ?? "").replace(/(?:@[\d.^~]+|\.[cm]?[jt]s)$/, ""))
    .filter((word) => /^[A-Za-z][A-Za-z0-9._-]*$/.test(word));
  const found = names.find((word) => !RUNNERS.has(word)) ?? names[0] ?? "server";
  return `mcp.${found}`;
}

/** Programs that run another one. */
const RUNNERS: ReadonlySet<string> = new Set([
  ...["npx", "node", "bunx", "bun", "uvx", "uv", "python", "python3", "docker", "run", "deno"],
]);

import type { ToolDefinition } from "../protocol/bus/plugin.gen.ts";

/**
 * Where a tool says that calling it twice does no more than calling it once. The bus has no place
 * for it but the schema, where programs that do not know it pass it over.
 */
export const IDEMPOTENT = "x-idempotent";

export function isIdempotent({ inputSchema }: ToolDefinition): boolean {
  return inputSchema?.[IDEMPOTENT] === true;
}

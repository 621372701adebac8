import type { Tool } from "../tool.ts";

/** What a text costs a model that reads it. */
export interface Cost {
  /** Of the text in UTF-8. */
  readonly bytes: number;
  readonly tokens: number;
}

/**
 * Bytes of a token, on average, in English text and JSON. Every model counts in its own way, and none
 * can be asked here, so this is an estimate.
 */
const BYTES_PER_TOKEN = 4;

export function costOf(text: string): Cost {
  const bytes = Buffer.byteLength(text);
  return { bytes, tokens: Math.ceil(bytes / BYTES_PER_TOKEN) };
}

/** What the definition of a tool costs, as a list has it. */
export function costOfTool({ definition }: Pick<Tool, "definition">): Cost {
  return costOf(JSON.stringify(definition));
}

export function sumOf(costs: readonly Cost[]): Cost {
  const bytes = costs.reduce((sum, cost) => sum + cost.bytes, 0);
  return { bytes, tokens: costs.reduce((sum, cost) => sum + cost.tokens, 0) };
}

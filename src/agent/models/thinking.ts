/** How much a model thinks before it answers. */
export type ThinkingLevel = "default" | "low" | "medium" | "high";

export const THINKING_LEVELS: readonly { readonly id: ThinkingLevel; readonly name: string }[] = [
  { id: "default", name: "As the model does by default" },
  { id: "low", name: "Low" },
  { id: "medium", name: "Medium" },
  { id: "high", name: "High" },
];

/**
 * Models that take a level, by name: providers do not list it, and refuse a request with a level that
 * the model does not have.
 */
const THINKS =
  /(?:^|[/.:-])(?:o[134](?:-|$)|gpt-5(?!-chat)|gpt-oss|claude-(?:3-7|(?:opus|sonnet|haiku)-[4-9])|gemini-(?:2\.5|[3-9]))/i;

export function takesLevel(model: string): boolean {
  return THINKS.test(model);
}

export function thinkingLevel(value: unknown): ThinkingLevel | undefined {
  return THINKING_LEVELS.find(({ id }) => id === value)?.id;
}

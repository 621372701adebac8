import type { Content, ToolResult } from "../../tool/tool.ts";

/** What a tool answered as one text: the dialect knows nothing else. */
export function outputText({ content, structuredContent }: ToolResult): string {
  if (content.length === 0 && structuredContent !== undefined) {
    return JSON.stringify(structuredContent);
  }
  return content.map(textOf).join("\n");
}

/** What is not text is said to be there. */
function textOf(piece: Content): string {
  const resource = (piece.resource ?? {}) as Readonly<Record<string, unknown>>;
  const text = piece.text ?? resource.text;
  if (typeof text === "string") return text;
  const facts = [piece.type, piece.name, piece.mimeType, piece.uri ?? resource.uri];
  return `[${facts.filter((fact) => typeof fact === "string").join(", ")}]`;
}

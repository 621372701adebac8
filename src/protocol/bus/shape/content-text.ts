import type { Content } from "../../../tool/tool.ts";

/** The content as text for a person. */
export function contentText(content: readonly Content[]): string {
  return content.map(pieceText).join("\n");
}

function pieceText(piece: Content): string {
  switch (piece.type) {
    case "text":
      return word(piece.text, "");
    case "resource_link":
      return `${word(piece.name, "resource")}: ${word(piece.uri, "?")}`;
    case "resource": {
      const { text, uri } = (piece.resource ?? {}) as { text?: unknown; uri?: unknown };
      return typeof text === "string" ? text : `[resource, ${word(uri, "?")}]`;
    }
    default:
      return `[${piece.type}, ${word(piece.mimeType, "of no known type")}]`;
  }
}

function word(value: unknown, otherwise: string): string {
  return typeof value === "string" ? value : otherwise;
}

/** Whether it is content of the kinds that MCP defines. */
export function isContent(value: unknown): value is Content[] {
  return Array.isArray(value) && value.length > 0 && value.every(isPiece);
}

function isPiece(value: unknown): value is Content {
  if (typeof value !== "object" || value === null) return false;
  const piece = value as Record<string, unknown>;
  switch (piece.type) {
    case "text":
      return typeof piece.text === "string";
    case "image":
    case "audio":
      return typeof piece.data === "string" && typeof piece.mimeType === "string";
    case "resource_link":
      return typeof piece.uri === "string" && typeof piece.name === "string";
    case "resource":
      return typeof (piece.resource as { uri?: unknown } | null)?.uri === "string";
    default:
      return false;
  }
}

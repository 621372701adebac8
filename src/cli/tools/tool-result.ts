import { text as readAll } from "node:stream/consumers";

import { TrunklineError } from "../../base/errors.ts";
import type { Invocation, Values } from "../shell/command.ts";
import type { Content, ToolResult } from "../../tool/tool.ts";

/** Prints the result of a tool as text, or with --json as it is. An error goes to stderr. */
export function printResult(
  { values, out, err, data }: Invocation<Values & { readonly json?: boolean }>,
  result: ToolResult,
): number {
  if (values.json === true) out(`${JSON.stringify(result, null, 2)}\n`);
  else (result.isError === true ? err : data)(`${textOf(result)}\n`);
  return result.isError === true ? 1 : 0;
}

/** The value of `--args`; `-` reads it from stdin. */
export async function readArguments(given: string): Promise<Record<string, unknown>> {
  const text = given === "-" ? await readAll(process.stdin) : given;
  let args: unknown;
  try {
    args = JSON.parse(text);
  } catch (error) {
    const { message } = error as Error;
    throw new TrunklineError("usage", `Cannot read the arguments: ${message}`, { cause: error });
  }
  if (typeof args !== "object" || args === null || Array.isArray(args)) {
    const example = `--args '{"path":"README.md"}'`;
    throw new TrunklineError("usage", `The arguments must be an object, such as ${example}`);
  }
  return args as Record<string, unknown>;
}

function textOf({ content, structuredContent }: ToolResult): string {
  if (content.length === 0 && structuredContent !== undefined) {
    return JSON.stringify(structuredContent, null, 2);
  }
  return content.map(pieceOf).join("\n");
}

/** Other content than text is named in brackets, such as `[image, image/png]`. */
function pieceOf(piece: Content): string {
  const resource = (piece.resource ?? {}) as Readonly<Record<string, unknown>>;
  const text = piece.text ?? resource.text;
  if (typeof text === "string") return text;
  const facts = [piece.type, piece.name, piece.mimeType, piece.uri ?? resource.uri];
  return `[${facts.filter((fact) => typeof fact === "string").join(", ")}]`;
}

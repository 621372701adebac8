import { readFileSync } from "node:fs";
import { runInNewContext } from "node:vm";

import type { JsonObject } from "../../src/protocol/mcp/json-object.ts";
import { packages } from "./suite.ts";

export type WireRevision = "2025-11-25" | "2026-07-28";

/** The definitions of MCP's own `schema.json`, which the official suite carries for its checks. */
export async function wireDefinitions(
  revision: WireRevision,
): Promise<Readonly<Record<string, JsonObject>>> {
  await packages.install();
  const program = packages.path("@modelcontextprotocol/conformance/dist/index.js");
  const text = readFileSync(program, "utf8");
  const table = /\{"2025-03-26":\w+,"2025-06-18":\w+,"2025-11-25":(\w+),\[\w+\]:(\w+)\}/.exec(text);
  const [whole = "", older = "", newest = ""] = table ?? [];
  const from = text.indexOf(`${older}={$schema:`);
  const to = text.lastIndexOf(";", text.indexOf(whole));
  if (whole === "" || from < 0 || to < from) throw new Error(`${program} has no schemas any more`);
  // Data only, in a context of its own: it is a literal of that program.
  const literals = `const ${text.slice(from, to)}; JSON.stringify([${older}, ${newest}])`;
  const schemas = JSON.parse(runInNewContext(literals) as string) as {
    readonly $defs: Record<string, JsonObject>;
  }[];
  const schema = schemas[revision === "2025-11-25" ? 0 : 1];
  if (schema?.$defs["CallToolResult"] === undefined) throw new Error(`No schema of ${revision}`);
  return schema.$defs;
}

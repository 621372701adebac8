import { TrunklineError } from "../../base/errors.ts";
import { type Arguments, textResult, type Tool, type ToolResult } from "../tool.ts";
import { rankTools } from "./rank-tools.ts";
import { CALL_TOOL, serverOf, serversOf } from "./search-tools.ts";

const DEFAULT_LIMIT = 5;
const MOST = 20;
/** Characters; the rest of a longer query is ignored. */
const LONGEST_QUERY = 1_000;

/** Answers a call of `search_tools`. */
export function searchFor({ query, limit }: Arguments, tools: readonly Tool[]): ToolResult {
  if (typeof query !== "string" || query.trim() === "") {
    throw new TrunklineError(
      "usage",
      "Give `query`: what the tool is to do, as `server verb object`.",
    );
  }
  const most =
    typeof limit === "number" && limit >= 1 ? Math.min(Math.trunc(limit), MOST) : DEFAULT_LIMIT;
  const found = rankTools(query.slice(0, LONGEST_QUERY), tools).slice(0, most);
  if (found.length === 0) {
    const servers = serversOf(tools).join(", ");
    return textResult(
      `No tool fits. Try other words, as \`server verb object\`. Servers: ${servers}.`,
    );
  }
  const shown = found.map((tool) => {
    const { name, title, description, inputSchema, annotations } = tool.definition;
    return { name, server: serverOf(tool), title, description, inputSchema, annotations };
  });
  const all = shown.map((one) => JSON.stringify(one)).join("\n");
  return textResult(
    `The best of ${tools.length} tools, the best first. Call one with ${CALL_TOOL}.\n${all}`,
  );
}

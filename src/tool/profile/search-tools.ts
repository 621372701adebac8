import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { type Arguments, errorResult, type Tool, type ToolResult } from "../tool.ts";
import { OWN_SERVER } from "./own-server.ts";

export const SEARCH_TOOL = "search_tools";
export const CALL_TOOL = "call_tool";

/** Servers that the description names: a longer list would cost what the search saves. */
const MOST_SERVERS = 60;

type Answer = ToolResult | Promise<ToolResult>;

/** What the two tools need of the toolbox. */
export interface SearchWays {
  /** Resolves when it is known which tools there are. */
  readonly known: () => Promise<void> | undefined;
  /** What the caller may find. */
  readonly tools: () => readonly Tool[];
  /** Puts a search on record. */
  readonly found: (work: Promise<ToolResult>) => Promise<ToolResult>;
  readonly call: (name: string, args: Arguments) => Answer;
}

/** The two tools that a client gets whose profile has it search. */
export class ToolSearch {
  /** As lists have them, in the place of the tools that can be found. */
  list(tools: readonly Tool[]): readonly Tool[] {
    return [definedAs(searchDefinition(tools)), definedAs(CALL_DEFINITION)];
  }

  /** Whether it is the name of one of them. */
  has(name: string): boolean {
    return name === SEARCH_TOOL || name === CALL_TOOL;
  }

  /** Answers a call of one of them; undefined for any other tool. */
  answer(name: string, args: Arguments, ways: SearchWays): Answer | undefined {
    if (name === SEARCH_TOOL) return ways.found(this.#find(args, ways));
    return name === CALL_TOOL ? callMeant(args, ways.call) : undefined;
  }

  async #find(args: Arguments, { known, tools }: SearchWays): Promise<ToolResult> {
    await known();
    const { searchFor } = await import("./tool-search.ts");
    return searchFor(args, tools());
  }
}

/** The servers of some tools, each once. */
export function serversOf(tools: readonly Tool[]): readonly string[] {
  return [...new Set(tools.map(serverOf))];
}

export function serverOf({ source, bringer = OWN_SERVER }: Tool): string {
  return source?.server ?? bringer;
}

/** Calls the tool that the arguments of `call_tool` name. */
function callMeant(
  { name, arguments: given = {} }: Arguments,
  call: (name: string, args: Arguments) => ToolResult | Promise<ToolResult>,
): ToolResult | Promise<ToolResult> {
  const args = typeof given === "string" ? parsed(given) : given;
  if (
    typeof name !== "string" ||
    typeof args !== "object" ||
    args === null ||
    Array.isArray(args)
  ) {
    return errorResult(
      `Give \`name\`, the name of a tool as ${SEARCH_TOOL} shows it, and \`arguments\`, an object.`,
    );
  }
  try {
    const result = call(name, args as Arguments);
    return result instanceof Promise ? result.catch(unknownToTheModel) : result;
  } catch (error) {
    return unknownToTheModel(error);
  }
}

/** To the protocol, `call_tool` is a tool that there is: that another is unknown is its answer. */
function unknownToTheModel(error: unknown): ToolResult {
  if (!(error instanceof TrunklineError) || error.code !== "not-found") throw error;
  return errorResult(`${visibleLine(error.message)}. Find the right name with ${SEARCH_TOOL}.`);
}

/** Some models write the arguments as text. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The toolbox answers their calls itself. */
function definedAs(definition: Tool["definition"]): Tool {
  const call = (): ToolResult => errorResult(`'${definition.name}' cannot be called here.`);
  return { definition, call };
}

function searchDefinition(tools: readonly Tool[]): Tool["definition"] {
  const servers = serversOf(tools).map(visibleLine);
  const more = servers.length > MOST_SERVERS ? `, and ${servers.length - MOST_SERVERS} more` : "";
  const named = servers.slice(0, MOST_SERVERS).join(", ") + more;
  return {
    name: SEARCH_TOOL,
    description:
      `Finds the tools for a job among ${tools.length}. Call it before you say that you cannot do ` +
      "something. Write the query as `server verb object`, such as `github create issue`; leave the " +
      `server out if you do not know it. Servers: ${named}. It shows the names, descriptions and ` +
      `schemas of the tools that fit best; call one of them with ${CALL_TOOL}.`,
    inputSchema: {
      type: "object",
      properties: {
        query: { type: "string", description: "What the tool is to do: server verb object" },
        limit: {
          type: "integer",
          minimum: 1,
          maximum: 20,
          description: "How many tools; 5 if left out",
        },
      },
      required: ["query"],
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  };
}

const CALL_DEFINITION: Tool["definition"] = {
  name: CALL_TOOL,
  description: `Calls a tool that ${SEARCH_TOOL} has shown, with arguments that fit its schema.`,
  inputSchema: {
    type: "object",
    properties: {
      name: { type: "string", description: "The name of the tool" },
      arguments: { type: "object", description: "Its arguments" },
    },
    required: ["name"],
  },
};

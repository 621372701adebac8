import type { Principal } from "../../base/principal.ts";
import {
  CannotAsk,
  type Question,
  type Tool,
  type ToolContext,
  type ToolResult,
} from "../../tool/tool.ts";
import type { Toolbox } from "../../tool/toolbox.ts";
import { type AgentTool, Refused, type ToolAnswer, type ToolWork } from "./agent-tool.ts";

/** What providers take as a tool's name. */
const LONGEST_NAME = 64;
/** Some take no more tools. */
const MOST_TOOLS = 128;

/**
 * Adds every tool of a toolbox that a principal may call, under a name that models can say. Those
 * that there is no room for are returned.
 */
export function addToolbox(
  tools: Map<string, AgentTool>,
  toolbox: Toolbox,
  principal: Principal,
): string[] {
  const left: string[] = [];
  for (const tool of toolbox.list(principal)) {
    const name = freeName(tools, tool.definition.name);
    if (tools.size >= MOST_TOOLS) left.push(tool.definition.name);
    else tools.set(name, adapt(tool, name, toolbox));
  }
  return left;
}

function freeName(tools: ReadonlyMap<string, AgentTool>, wanted: string): string {
  const plain = wanted.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, LONGEST_NAME);
  for (let count = 1; ; count++) {
    const end = count === 1 ? "" : `_${count}`;
    const name = plain.slice(0, LONGEST_NAME - end.length) + end;
    if (!tools.has(name)) return name;
  }
}

function adapt({ definition, source }: Tool, name: string, toolbox: Toolbox): AgentTool {
  const { annotations = {}, description = "", title, inputSchema } = definition;
  const isHarmless = annotations.readOnlyHint === true;
  return {
    name,
    description: description.slice(0, 4_000),
    inputSchema,
    kind: isHarmless ? "read" : "other",
    need: isHarmless ? "nothing" : "run",
    timeout: 600_000,
    title: () => (source === undefined ? "" : `${source.server}: `) + (title ?? definition.name),
    async call(args, work) {
      if (!isHarmless) await work.allow({ subject: `call ${definition.name}` });
      const context = contextOf(work);
      return answerOf(await toolbox.call(definition.name, args, context));
    },
  };
}

function contextOf(work: ToolWork): ToolContext {
  const { stop, client, log, sessionId, principal } = work;
  return {
    caller: { door: "agent", name: "built-in agent", principal, client: sessionId },
    session: sessionId,
    folder: work.files.places.cwd,
    stop,
    signal: stop.signal,
    meta: {},
    progress: () => work.progressed(),
    log: (level, data) => log.debug("agent.tool-said", { level, data }),
    canAsk: ({ method, params }) => {
      return method === "elicitation/create" && (client.elicit !== undefined || isYesOrNo(params));
    },
    ask: (question) => ask(work, question),
  };
}

async function ask(work: ToolWork, question: Question): Promise<unknown> {
  const { method, params = {} } = question;
  if (method !== "elicitation/create") throw new CannotAsk(question);
  if (work.client.elicit !== undefined) return work.client.elicit(params);
  if (!isYesOrNo(params)) throw new CannotAsk(question);
  const message = String(params.message);
  try {
    await work.allow({ subject: message, title: message });
    return { action: "accept", content: {} };
  } catch (error) {
    if (error instanceof Refused) return { action: "decline" };
    throw error;
  }
}

/** A form without fields only wants consent, which every client can give. */
function isYesOrNo(params: Question["params"]): boolean {
  const schema = params?.requestedSchema as { properties?: object } | undefined;
  return params?.mode !== "url" && Object.keys(schema?.properties ?? {}).length === 0;
}

function answerOf(result: ToolResult): ToolAnswer {
  const texts: string[] = [];
  const images: { data: string; mimeType: string }[] = [];
  for (const part of result.content) {
    const { type, text, data, mimeType, resource, uri } = part as Record<string, unknown>;
    if (type === "text") texts.push(String(text));
    else if (type === "image" && typeof data === "string" && typeof mimeType === "string") {
      images.push({ data, mimeType });
    } else if (type === "resource") texts.push(resourceText(resource));
    else if (type === "resource_link") texts.push(`(Resource ${String(uri)})`);
    else texts.push(`(Content of the type '${type as string}', which cannot be shown.)`);
  }
  if (texts.length === 0 && result.structuredContent !== undefined) {
    texts.push(JSON.stringify(result.structuredContent));
  }
  const text = bounded(texts.join("\n"));
  return { text, isError: result.isError === true, ...(images.length === 0 ? {} : { images }) };
}

function resourceText(resource: unknown): string {
  const { text, uri } = (resource ?? {}) as Record<string, unknown>;
  return typeof text === "string" ? text : `(Resource ${String(uri)})`;
}

const MOST_CHARACTERS = 60_000;

function bounded(text: string): string {
  if (text.length <= MOST_CHARACTERS) return text;
  return `${text.slice(0, MOST_CHARACTERS)}\n(${text.length - MOST_CHARACTERS} characters more.)`;
}

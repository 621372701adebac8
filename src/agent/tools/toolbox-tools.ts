import type { Principal } from "../../base/principal.ts";
import type { Profile } from "../../tool/profile/profile.ts";
import {
  type Caller,
  CannotAsk,
  type Project,
  type Question,
  type Tool,
  type ToolContext,
  type ToolResult,
} from "../../tool/tool.ts";
import type { Toolbox } from "../../tool/toolbox.ts";
import {
  type AgentTool,
  cutText,
  CallRejectedError,
  textContent,
  type ToolAnswer,
  type ToolWork,
} from "./agent-tool.ts";
import { groupOf } from "./tool-groups.ts";

/** Providers limit the length of tool names. */
const LONGEST_NAME = 64;
/** Some providers accept no more tools. */
const MOST_TOOLS = 128;

export interface AddToolboxOptions {
  readonly principal: Principal;
  readonly project: Project;
  /** What the principal sees of the toolbox. */
  readonly profile?: Profile | undefined;
  /** The tools are of MCP servers of the session, whose names may equal those of configured servers. */
  readonly isBrought: boolean;
}

/**
 * Adds the tools of a toolbox that a principal may call, under names that providers accept. Returns the
 * names of those that did not fit.
 */
export function addToolbox(
  tools: Map<string, AgentTool>,
  toolbox: Toolbox | undefined,
  { principal, project, profile, isBrought }: AddToolboxOptions,
): string[] {
  const left: string[] = [];
  if (toolbox === undefined) return left;
  const caller = callerFor(principal, "");
  // The agent has groups of tools of its own to keep lists short, so it never searches.
  for (const tool of toolbox.visibleTo({ caller, project, profile })) {
    // To the toolbox, a call of this name is one of any tool that its arguments name.
    if (profile?.search?.has(tool.definition.name) === true) continue;
    const name = freeName(tools, tool.definition.name);
    if (tools.size >= MOST_TOOLS) left.push(tool.definition.name);
    else tools.set(name, adapt(tool, name, toolbox, { isBrought, profile }));
  }
  return left;
}

/** The name of the built-in agent, to policies and profiles. */
export const AGENT_NAME = "built-in agent";

function callerFor(principal: Principal, client: string): Caller {
  return { door: "agent", name: AGENT_NAME, principal, client };
}

function freeName(tools: ReadonlyMap<string, AgentTool>, wanted: string): string {
  const plain = wanted.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, LONGEST_NAME);
  for (let count = 1; ; count++) {
    const end = count === 1 ? "" : `_${count}`;
    const name = plain.slice(0, LONGEST_NAME - end.length) + end;
    if (!tools.has(name)) return name;
  }
}

function adapt(
  tool: Tool,
  name: string,
  toolbox: Toolbox,
  { isBrought, profile }: Pick<AddToolboxOptions, "isBrought" | "profile">,
): AgentTool {
  const { annotations = {}, description = "", title, inputSchema } = tool.definition;
  const { source, bringer } = tool;
  const called = tool.definition.name;
  const owner = source?.server ?? bringer;
  const isHarmless = annotations.readOnlyHint === true;
  const of = owner === undefined ? "" : ` of ${isBrought ? "the session's server " : ""}'${owner}'`;
  // The name at its server, since the name here may change.
  const there = { tool: source?.name ?? called, ...(source && { server: source.server }) };
  return {
    name,
    description: description.slice(0, 4_000),
    inputSchema,
    kind: isHarmless ? "read" : "other",
    need: isHarmless ? "nothing" : "run",
    group: groupOf(called, owner),
    timeout: 600_000,
    hooked: { name: owner === undefined ? called : `mcp__${owner}__${there.tool}` },
    title: () => (owner === undefined ? "" : `${owner}: `) + (title ?? called),
    async call(args, work) {
      const context = { ...contextOf(work), profile };
      // MCP server/tools § Annotations are untrusted: `readOnlyHint` counts only for trusted tools. A policy
      // that asks shows the call to the person itself.
      const isFree =
        (await toolbox.asks(tool, args, context)) ||
        (isHarmless && (await toolbox.isTrusted(tool, args, context)));
      if (!isFree) {
        await work.allow({
          subject: { action: "call", ...there, ...(isBrought ? { isBrought } : {}) },
          covers: `every call of '${called}'${of}, whatever its arguments`,
          title: `Call '${called}'${of}${title === undefined ? "" : ` (${title})`}`,
        });
      }
      return answerOf(await toolbox.call(called, args, context));
    },
  };
}

function contextOf(work: ToolWork): ToolContext {
  const { signal, client, log, sessionId, principal } = work;
  return {
    caller: callerFor(principal, sessionId),
    session: sessionId,
    folder: work.files.workspace.cwd,
    signal,
    meta: { ...work.trace },
    hooksRan: work.hooksRan,
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
    // Not remembered: the same question may be about something else next time.
    await work.allow({ title: message, content: [textContent(message)] });
    return { action: "accept", content: {} };
  } catch (error) {
    if (error instanceof CallRejectedError) return { action: "decline" };
    throw error;
  }
}

/** A form without fields asks only for consent, which every client can show. */
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
  const text = cutText(texts.join("\n"), MOST_CHARACTERS);
  return { text, isError: result.isError === true, ...(images.length === 0 ? {} : { images }) };
}

function resourceText(resource: unknown): string {
  const { text, uri } = (resource ?? {}) as Record<string, unknown>;
  return typeof text === "string" ? text : `(Resource ${String(uri)})`;
}

const MOST_CHARACTERS = 60_000;

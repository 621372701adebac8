import type { JsonSchema, ProjectUse, ResourceDefinition, ToolDefinition } from "../tool/tool.ts";

/** lazygit-mcp-bridge, "Resource List". */
export const MESSAGES: ResourceDefinition = {
  uri: "lazygit://messages",
  name: "Lazygit Messages",
  description: "Messages from lazygit for code improvement",
  mimeType: "text/plain",
};

/** The answer without messages (lazygit-mcp-bridge, "3. Tool Call"). */
export const NO_MESSAGES = "No new messages from lazygit";

const id = {
  type: "string",
  minLength: 1,
  maxLength: 40,
  description: "Id of the thread, such as r7k2mq.",
};

const repository = {
  type: "string",
  minLength: 1,
  description: "Folder of the repository; the project's own when left out.",
};

const agent = {
  type: "string",
  minLength: 1,
  maxLength: 80,
  description: "Your own name, where several agents share this connection.",
};

const limit = { type: "integer", minimum: 1, maximum: 200 };

/**
 * Reading covers all repositories. Claiming threads needs one repository, unless the thread is
 * named by its id.
 */
export const PROJECT_USES: Readonly<Record<string, ProjectUse>> = {
  check_lazygit_messages: { need: () => "wanted" },
  review_list: { argument: "repository", need: () => "wanted" },
  review_claim: { argument: "repository", instead: "give the 'id' of a thread" },
  review_wait: { argument: "repository" },
  review_reply: {},
  review_propose: {},
};

/** A tool that changes threads, and nothing else. */
function changing(
  name: string,
  title: string,
  description: string,
  properties: Readonly<Record<string, JsonSchema>>,
  more: JsonSchema = {},
): ToolDefinition {
  return {
    ...{ name, title, description },
    inputSchema: { type: "object", properties, ...more, additionalProperties: false },
    annotations: { destructiveHint: false, openWorldHint: false },
  };
}

/** The tools for agents, as data: the code is loaded with the first call. */
export const REVIEW_TOOLS: readonly ToolDefinition[] = [
  {
    name: "check_lazygit_messages",
    title: "Check for new messages from lazygit",
    description: "Check for new messages from lazygit",
    inputSchema: {
      type: "object",
      properties: {
        after: {
          type: "string",
          maxLength: 80,
          description: "For programs: `trunkline/delivery` of the last answer that was received.",
        },
      },
    },
  },
  {
    name: "review_list",
    title: "List review threads",
    description:
      "List review comments that a person left on lines of code, with where those lines are now. " +
      "Changes nothing. Shows what is not resolved unless `states` says otherwise.",
    inputSchema: {
      type: "object",
      properties: {
        states: {
          type: "array",
          minItems: 1,
          items: { enum: ["open", "claimed", "answered", "proposed", "resolved", "reopened"] },
          description: "Only threads in these states.",
        },
        id: { ...id, description: "Only this thread, with all that was said on it." },
        limit: { ...limit, default: 50 },
        repository,
      },
      additionalProperties: false,
    },
    annotations: { readOnlyHint: true, openWorldHint: false },
  },
  changing(
    "review_claim",
    "Claim review threads",
    "Take review threads to work on, so that no other agent does: the one with the given id, or " +
      "the oldest that are free. Then change the code and call review_propose, or answer with " +
      "review_reply. A claim is given back when you are gone or silent for long.",
    { id, limit: { ...limit, default: 1 }, repository, agent },
  ),
  changing(
    "review_wait",
    "Wait for review comments",
    "Wait until a person leaves a review comment, and claim it. Answers at once if one is " +
      "waiting, and with none when the time is up: then call it again to keep listening.",
    {
      timeoutSeconds: {
        type: "integer",
        minimum: 0,
        maximum: 600,
        default: 50,
        description: "How long to wait.",
      },
      limit: { ...limit, default: 5 },
      repository,
      agent,
    },
  ),
  changing(
    "review_reply",
    "Answer a review thread",
    "Answer a thread in words: a question, or why you did not change the code. The person reads " +
      "it and resolves the thread, or goes on. To say that you changed code use review_propose.",
    { id, text: { type: "string", minLength: 1, maxLength: 100_000 }, agent },
    { required: ["id", "text"] },
  ),
  changing(
    "review_propose",
    "Propose a change for a review thread",
    "Say what you changed because of a thread: a commit you made, or a diff. The person looks at " +
      "it and resolves the thread; you cannot.",
    {
      id,
      text: { type: "string", maxLength: 100_000, description: "What you did, in a sentence." },
      commit: { type: "string", minLength: 4, maxLength: 200, description: "The commit." },
      diff: { type: "string", minLength: 1, maxLength: 1_000_000, description: "A unified diff." },
      agent,
    },
    { required: ["id"], anyOf: [{ required: ["commit"] }, { required: ["diff"] }] },
  ),
];

import { IMAGE_TYPES } from "../../agent/prompt/prompt-blocks.ts";
import { SCOPES } from "../../base/principal.ts";
import { SEVERITIES } from "../../store/review/review-thread.ts";

const text = { type: "string" } as const;
const texts = { type: "array", items: text } as const;
const pairs = { type: "object", additionalProperties: text } as const;
const said = { type: "string", pattern: String.raw`\S`, "x-form": "a text with words" } as const;
const line = { type: "integer", minimum: 1, maximum: Number.MAX_SAFE_INTEGER } as const;
const MOST_DAYS = 3_650;

/** Bodies of requests to the dashboard's API. Unknown members are accepted. */
export const schemas = {
  PromptBody: {
    type: "object",
    required: ["text"],
    properties: {
      text: {
        ...said,
        description:
          "Files of the project that it names by `@` are named to the agent, images of it are added.",
      },
      images: { type: "array", items: { $ref: "#PromptImage" } },
      whileRunning: {
        type: "string",
        enum: ["steer", "queue"],
        description: "While a turn runs: join it, or wait for its end. Default queue.",
      },
    },
  },

  PromptImage: {
    type: "object",
    description: "As ACP has it, in base64.",
    required: ["mimeType", "data"],
    properties: { mimeType: { type: "string", enum: IMAGE_TYPES }, data: text },
  },

  MoveBody: {
    type: "object",
    required: ["to"],
    properties: {
      to: { ...said, description: "A gateway, as in wss://example.com/acp." },
      token: { ...text, description: "An access token of that gateway." },
      withSecrets: { type: "boolean", description: "With files that look like secrets." },
      interrupts: { type: "boolean", description: "A running turn does not end its tool call." },
    },
  },

  AnswerBody: {
    type: "object",
    required: ["id"],
    properties: {
      id: { ...said, description: "`Ask.id`" },
      optionId: {
        ...text,
        description: "Permission: the chosen option.",
      },
      result: {
        type: "object",
        description:
          'Question: ACP elicitation result, such as `{action: "accept", content: {…}}`.',
      },
    },
  },

  SettingBody: {
    type: "object",
    required: ["kind", "id"],
    properties: {
      kind: { type: "string", enum: ["mode", "model", "option"] },
      id: said,
      value: { description: "Of an option." },
    },
  },

  CommentBody: {
    type: "object",
    required: ["path", "side", "text"],
    properties: {
      path: said,
      side: { type: "string", enum: ["old", "new"] },
      line: {
        ...line,
        description: "The first line, from 1, and the last one. Without them, the whole file.",
      },
      end: line,
      text: said,
      severity: { type: "string", enum: SEVERITIES },
    },
  },

  NewSession: {
    type: "object",
    required: ["folder"],
    properties: {
      folder: { ...said, description: "Absolute; `~` is the home folder of the owner." },
      agent: text,
      worktree: {
        type: "boolean",
        description:
          "Whether it gets a work tree of its own, and the branch of that; a new one where it is left out.",
      },
      branch: text,
      settings: {
        type: "array",
        items: { $ref: "#SettingBody" },
        description: "Chosen before the prompt is sent.",
      },
      prompt: { $ref: "#PromptBody", description: "The session waits where it is left out." },
    },
  },

  NewRun: {
    type: "object",
    required: ["repository", "prompt"],
    properties: {
      repository: { ...said, description: "An address, or an absolute folder with a clone of it." },
      revision: { ...text, description: "A branch, a tag or a full hash." },
      agent: text,
      pullRequest: { type: "boolean" },
      prompt: { $ref: "#PromptBody" },
    },
  },

  NewServer: {
    type: "object",
    required: ["name", "words"],
    properties: {
      name: said,
      words: { ...texts, minItems: 1, description: "A command line as a list, or one URL." },
      env: pairs,
      headers: pairs,
    },
  },

  NewToken: {
    type: "object",
    required: ["name", "scopes"],
    properties: {
      name: said,
      scopes: { type: "array", items: { type: "string", enum: SCOPES }, minItems: 1 },
      days: {
        ...{ type: "number", minimum: 0.01, maximum: MOST_DAYS },
        description: "Days until it ends; without it, it does not.",
      },
      agents: texts,
      tools: texts,
      folders: texts,
      repositories: texts,
    },
  },

  PolicyBody: {
    type: "object",
    required: ["tool", "decision"],
    properties: { tool: said, decision: { type: "string", enum: ["allow", "ask", "deny"] } },
  },
} as const;

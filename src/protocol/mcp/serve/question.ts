import { visible } from "../../../base/text/visible.ts";
import type { Question } from "../../../tool/tool.ts";
import type { Client } from "./connection.ts";
import type { JsonObject } from "../json-object.ts";
import { isObject } from "../../../base/check.ts";

/** The capability that a client must have declared before it is asked this. */
export function neededFor(question: Question): JsonObject {
  switch (question.method) {
    case "roots/list":
      return { roots: {} };
    case "sampling/createMessage":
      return { sampling: question.params?.tools === undefined ? {} : { tools: {} } };
    case "elicitation/create":
      return { elicitation: question.params?.mode === "url" ? { url: {} } : {} };
    default:
      return { experimental: { [question.method]: {} } };
  }
}

/** MCP 2025-11-25, basic/lifecycle § Operation: only declared capabilities are used. */
export function canBeAsked(client: Client, question: Question): boolean {
  // The same without making objects: each call of a tool asks this.
  if (question.method === "roots/list") return isObject(client.capabilities.roots);
  return Object.entries(neededFor(question)).every(([name, parts]) => {
    const capability = client.capabilities[name];
    return (
      isObject(capability) && Object.keys(parts as JsonObject).every((part) => part in capability)
    );
  });
}

/**
 * The question's parameters in the client's revision. A person reads the message, and it may be
 * another server's: hidden characters in it are shown escaped.
 */
export function shapeQuestion(client: Client, question: Question): JsonObject {
  const { params = {} } = question;
  if (question.method !== "elicitation/create") return params;
  const { mode, message, ...rest } = params;
  return {
    ...(mode === undefined || !client.codec.has.elicitationMode ? {} : { mode }),
    ...(typeof message === "string" ? { message: visible(message) } : {}),
    ...rest,
  };
}

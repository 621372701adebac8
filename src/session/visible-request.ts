import { defined } from "../base/defined.ts";
import { TrunklineError } from "../base/errors.ts";
import { visible, visibleLine } from "../base/text/visible.ts";
import type { Meta, SessionUpdate } from "./agent.ts";
import type { PermissionRequest } from "./permission/permission.ts";

/** Members that programs use as they are, and that are not escaped. */
const NAMES: ReadonlySet<string> = new Set(["path", "terminalId", "uri", "data", "mimeType"]);

/**
 * A permission request with hidden characters escaped. Otherwise an agent could show a person another
 * command than the one that is about to run, for example with a right-to-left override.
 */
export function visibleRequest(request: PermissionRequest): PermissionRequest {
  const { toolCall, options } = request;
  const { title, content, rawInput } = toolCall;
  return {
    ...request,
    toolCall: {
      ...toolCall,
      ...defined({ title: shown(title), content: shown(content), rawInput: shown(rawInput) }),
    },
    options: options.map((option) => ({ ...option, name: visible(option.name) })),
  };
}

/** Escapes hidden characters in the title of a tool call or of the session. */
export function visibleUpdate(update: SessionUpdate): SessionUpdate {
  const { title } = update;
  if (typeof title !== "string") return update;
  const seen = visible(title);
  return seen === title ? update : { ...update, title: seen };
}

/** ACP elicitation: a form or a page, with hidden characters escaped. Throws if a person would choose one. */
export function visibleQuestion(question: Meta): Meta {
  const { message, requestedSchema } = question;
  return {
    ...question,
    ...(typeof message === "string" ? { message: visible(message) } : {}),
    ...(requestedSchema === undefined ? {} : { requestedSchema: visibleField(requestedSchema) }),
  };
}

/** Values that a person chooses are sent back, so they cannot be escaped. */
const CHOSEN: ReadonlySet<string> = new Set(["enum", "const"]);
const READ: ReadonlySet<string> = new Set(["title", "description"]);

function visibleField(value: unknown, key = ""): unknown {
  if (typeof value === "string") {
    if (CHOSEN.has(key)) refuseHidden(value);
    return READ.has(key) ? visible(value) : value;
  }
  if (Array.isArray(value)) return value.map((item) => visibleField(item, key));
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, item]) => {
    // The name of a field without a title.
    refuseHidden(name);
    return [name, visibleField(item, key === "properties" ? "" : name)];
  });
  return Object.fromEntries(entries);
}

function refuseHidden(text: string): void {
  if (visible(text) === text) return;
  const says = `Cannot ask with '${visibleLine(text)}': a person would not see all of its characters`;
  throw new TrunklineError("usage", says);
}

function shown(value: unknown): unknown {
  if (typeof value === "string") return visible(value);
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [visible(key), NAMES.has(key) ? item : shown(item)]),
  );
}

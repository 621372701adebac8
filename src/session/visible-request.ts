import { visible } from "../base/text/visible.ts";
import type { SessionUpdate } from "./agent.ts";
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
      ...(title === undefined ? {} : { title: shown(title) }),
      ...(content === undefined ? {} : { content: shown(content) }),
      ...(rawInput === undefined ? {} : { rawInput: shown(rawInput) }),
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

function shown(value: unknown): unknown {
  if (typeof value === "string") return visible(value);
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, item]) => [visible(key), NAMES.has(key) ? item : shown(item)]),
  );
}

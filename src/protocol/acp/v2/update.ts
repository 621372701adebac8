import { unifiedDiff } from "../../../base/text/unified-diff.ts";
import { type JsonObject, objectOf } from "../methods.ts";

type Update = JsonObject & { readonly sessionUpdate: string };

/** Version 2 allows several plans, agents of version 1 have one. */
const PLAN = "plan";
/** Keeps an update below its limit of 100 KB; the patch is optional. */
const LONGEST_PATCH = 48 * 1024;

/** An update in version 2; undefined where it has none. Unknown updates are passed through. */
export function updateInV2(update: Update): JsonObject | undefined {
  switch (update.sessionUpdate) {
    case "tool_call":
    case "tool_call_update":
      return { ...toolCallInV2(update), sessionUpdate: "tool_call_update" };
    case "plan": {
      const { sessionUpdate: _, entries, ...rest } = update;
      const plan = { type: "items", planId: PLAN, entries };
      return { sessionUpdate: "plan_update", plan, ...rest };
    }
    case "available_commands_update":
      return { ...update, availableCommands: commandsInV2(update.availableCommands) };
    case "config_option_update":
      return { ...update, configOptions: optionsInV2(update.configOptions) };
    case "current_mode_update":
      // Version 2 has modes as config options, whose update is sent as well.
      return undefined;
    default:
      return update;
  }
}

/** A tool call in version 2. A patch longer than `longest` is left out. */
export function toolCallInV2(toolCall: JsonObject, longest = LONGEST_PATCH): JsonObject {
  const { content, locations } = toolCall;
  const contents = listOf(content).map((part) => contentInV2(part, longest));
  const { cancellable, isCancelled } = objectOf(objectOf(toolCall._meta).trunkline);
  const isOver = toolCall.status === "completed" || toolCall.status === "failed";
  return {
    ...toolCall,
    ...(cancellable === true ? { capabilities: { cancel: {} } } : {}),
    ...(isOver ? { capabilities: null } : {}),
    ...(isCancelled === true ? { status: "cancelled" } : {}),
    ...(Array.isArray(content) ? { content: contents } : {}),
    ...(Array.isArray(locations) ? { locations: listOf(locations).map(locationInV2) } : {}),
  };
}

/** Version 2 counts lines from 1, so a line 0 is left out. */
function locationInV2({ line, ...location }: JsonObject): JsonObject {
  return typeof line === "number" && line >= 1 ? { ...location, line } : location;
}

function contentInV2(part: JsonObject, longest: number): JsonObject {
  if (part.type !== "diff") return part;
  const { path, oldText, newText, _meta } = part;
  const old = typeof oldText === "string" ? oldText : undefined;
  const { firstLine } = objectOf(objectOf(_meta)["trunkline/excerpt"]);
  const from = typeof firstLine === "number" ? firstLine : 1;
  const text = unifiedDiff(String(path).replace(/^\/+/, ""), old, String(newText), from);
  return {
    type: "diff",
    changes: [{ operation: old === undefined ? "add" : "modify", path, fileType: "text" }],
    ...(text.length > longest ? {} : { patch: { format: "git_patch", text } }),
    ...(_meta === undefined ? {} : { _meta }),
  };
}

/** Config options in version 2, in which the ids of options and groups have other names. */
export function optionsInV2(options: unknown): JsonObject[] {
  return listOf(options).map(({ id, options: choices, ...option }) => ({
    configId: id,
    ...option,
    ...(Array.isArray(choices) ? { options: listOf(choices).map(choiceInV2) } : {}),
  }));
}

function choiceInV2(choice: JsonObject): JsonObject {
  if (!("group" in choice)) return choice;
  const { group, ...rest } = choice;
  return { groupId: group, ...rest };
}

/** Commands in version 2, in which commands and their inputs have a type. */
function commandsInV2(commands: unknown): JsonObject[] {
  return listOf(commands).map(({ input, ...command }) => ({
    type: "command",
    ...command,
    ...(typeof input === "object" && input !== null ? { input: { type: "text", ...input } } : {}),
  }));
}

function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? (value as JsonObject[]) : [];
}

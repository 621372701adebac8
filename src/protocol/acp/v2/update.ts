import { type JsonObject, objectOf } from "../methods.ts";
import { gitPatch } from "./git-patch.ts";

type Update = JsonObject & { readonly sessionUpdate: string };

/** An agent has one plan; this version has room for several. */
const PLAN = "plan";
/** An update has 100 KB in all, and a patch may be left out. */
const LONGEST_PATCH = 48 * 1024;

/** An update as version 2 has it; undefined where it has none. What is unknown passes as it is. */
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
      // The option that stands for it is told beside it.
      return undefined;
    default:
      return update;
  }
}

/** A patch longer than `longest` is left out of it. */
export function toolCallInV2(toolCall: JsonObject, longest = LONGEST_PATCH): JsonObject {
  const { content, locations } = toolCall;
  const contents = listOf(content).map((part) => contentInV2(part, longest));
  return {
    ...toolCall,
    ...(Array.isArray(content) ? { content: contents } : {}),
    ...(Array.isArray(locations) ? { locations: listOf(locations).map(locationInV2) } : {}),
  };
}

/** Lines are counted from one. */
function locationInV2({ line, ...location }: JsonObject): JsonObject {
  return typeof line === "number" && line >= 1 ? { ...location, line } : location;
}

function contentInV2(part: JsonObject, longest: number): JsonObject {
  if (part.type !== "diff") return part;
  const { path, oldText, newText, _meta } = part;
  const old = typeof oldText === "string" ? oldText : undefined;
  const { firstLine } = objectOf(objectOf(_meta)["trunkline/excerpt"]);
  const from = typeof firstLine === "number" ? firstLine : 1;
  const text = gitPatch(String(path), old, String(newText), from);
  return {
    type: "diff",
    changes: [{ operation: old === undefined ? "add" : "modify", path, fileType: "text" }],
    ...(text.length > longest ? {} : { patch: { format: "git_patch", text } }),
    ...(_meta === undefined ? {} : { _meta }),
  };
}

/** Config options, and groups of their choices, have other names for their ids. */
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

/** Commands say of what kind they are, and so does what they take. */
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

import type { JsonObject } from "../methods.ts";

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
export function commandsInV2(commands: unknown): JsonObject[] {
  return listOf(commands).map(({ input, ...command }) => ({
    type: "command",
    ...command,
    ...(typeof input === "object" && input !== null ? { input: { type: "text", ...input } } : {}),
  }));
}

export function listOf(value: unknown): readonly JsonObject[] {
  return Array.isArray(value) ? (value as JsonObject[]) : [];
}

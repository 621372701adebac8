import { TrunklineError } from "../../base/errors.ts";
import { suggest } from "../../base/text/suggest.ts";
import type { ConfigInput } from "../config.ts";
import type { ConfigFileEdit } from "../file/edit-file.ts";
import {
  type KeyPath,
  keyText,
  leaves,
  mergeValues,
  newName,
  valueAt,
  type ConfigValues,
} from "../layer.ts";
import { SETTINGS } from "../schema/keys.gen.ts";
import { objectAround, parseKey, readScalar } from "../set-path.ts";
import { editConfig, type EditedConfig, type EditedKind } from "./edit-config.ts";
import { parsedJson } from "../../base/check.ts";

/** Sets one value, given as text: JSON, or else the text itself. */
export async function setValue(
  input: ConfigInput,
  kind: EditedKind,
  key: string,
  text: string,
): Promise<EditedConfig> {
  const path = newName(parseKey(key));
  const [first, ...others] = readings(path, text);
  try {
    return await editConfig(input, kind, (now) => [editOf(now, path, first)]);
  } catch (error) {
    // A value such as `1` may be meant as text: what the schema accepts is what is meant.
    for (const value of others) {
      try {
        return await editConfig(input, kind, (now) => [editOf(now, path, value)]);
      } catch {
        // The first reading is the usual one, so its error is the one to show.
      }
    }
    throw error;
  }
}

/** Removes one value. */
export async function unsetValue(
  input: ConfigInput,
  kind: EditedKind,
  key: string,
): Promise<EditedConfig> {
  const path = parseKey(key);
  return editConfig(input, kind, (now) => {
    if (path.length > 0 && valueAt(now, path) === undefined) throw notSet(key, kind, now);
    // `"agent": "NAME"` is the whole of it.
    const isShort = keyText(path) === "agent.name" && Object.keys(now.agent ?? {}).length === 1;
    return [{ path: isShort ? ["agent"] : path, value: undefined }];
  });
}

/** The values that a text can stand for, the most likely first. */
function readings(path: KeyPath, text: string): unknown[] {
  const type = SETTINGS.find((setting) => keyText(setting.path) === keyText(path))?.type;
  const read = parsedJson(text);
  const json = read === undefined ? [] : [read];
  const quoted = json.filter((value) => typeof value === "string");
  const typed = type === undefined ? [] : [readScalar(text, type)];
  return [...new Set([...quoted, ...typed, ...json, text])];
}

/**
 * The edit that sets a value. `agent` may be given by its name alone: then it becomes an object with
 * that name as soon as something else is set in it, and keeps the rest when the name is set.
 */
export function editOf(now: ConfigValues, path: KeyPath, value: unknown): ConfigFileEdit {
  const agent = (now.agent ?? {}) as ConfigValues;
  const hasNameOnly = Object.keys(agent).join() === "name";
  if (path[0] !== "agent" || Object.keys(agent).length === 0) return { path, value };
  if (path.length > 1 && hasNameOnly) {
    return {
      path: ["agent"],
      value: mergeValues(agent, objectAround(path.slice(1), value), ["agent"]),
    };
  }
  const isName = path.length === 1 && typeof value === "string" && !hasNameOnly;
  return { path: isName ? ["agent", "name"] : path, value };
}

function notSet(key: string, kind: EditedKind, now: ConfigValues): TrunklineError {
  const keys = Array.from(leaves(now), ([path]) => keyText(path));
  const [near] = suggest(key, keys);
  const whose = kind === "user" ? "your own file" : "the project's file";
  const meant = near === undefined ? "" : ` Did you mean '${near}'?`;
  const next = meant || " `trunkline config show --origin` shows what is set where.";
  return new TrunklineError("not-found", `Cannot unset '${key}': ${whose} does not set it.${next}`);
}

import { TrunklineError } from "../../base/errors.ts";
import { suggest } from "../../base/text/suggest.ts";
import type { ConfigInput } from "../config.ts";
import { isValues, valueAt, type ConfigValues } from "../layer.ts";
import { loadConfig } from "../load.ts";
import { editConfig, type EditedConfig, type EditedKind } from "./edit-config.ts";

/** A part of the configuration that has entries by name, such as `mcpServers`. */
export interface EntrySection {
  /** What an entry is called in messages. */
  readonly what: string;
  readonly path: readonly string[];
}

export const SERVER_ENTRIES: EntrySection = { what: "server", path: ["mcpServers"] };

/** Which file is changed, and how the configuration was found. */
export interface EntryPlace {
  readonly input: ConfigInput;
  readonly kind: EditedKind;
}

/** Adds an entry. Throws "conflict" where there is one; `replace` says how it can be replaced, or that it is. */
export async function addConfigEntry(
  { input, kind }: EntryPlace,
  { what, path }: EntrySection,
  name: string,
  value: ConfigValues,
  replace: true | string,
): Promise<EditedConfig> {
  if (name === "") throw new TrunklineError("usage", `Cannot add the ${what}: it has no name.`);
  return editConfig(input, kind, (now) => {
    if (replace !== true && valueAt(now, [...path, name]) !== undefined) {
      const says = `there is one with that name. ${replace}`;
      throw new TrunklineError("conflict", `Cannot add ${what} '${name}': ${says}.`);
    }
    return [{ path: [...path, name], value }];
  });
}

/** Removes an entry. Throws "not-found" where the file has none, and says where there is one. */
export async function removeConfigEntry(
  { input, kind }: EntryPlace,
  { what, path }: EntrySection,
  name: string,
): Promise<EditedConfig> {
  // Loaded before the change, to say which other file has the entry.
  const elsewhere = await loadConfig(input).catch(() => undefined);
  return editConfig(input, kind, (now) => {
    const entries = valueAt(now, path);
    const names = isValues(entries) ? Object.keys(entries) : [];
    if (names.includes(name)) return [{ path: [...path, name], value: undefined }];
    const isElsewhere = valueAt(elsewhere?.config, [...path, name]) !== undefined;
    const next = isElsewhere ? whereToRemove(kind) : nearest(name, names);
    const says = `${fileWords(kind)} has no ${what} with that name. ${next}`;
    throw new TrunklineError("not-found", `Cannot remove ${what} '${name}': ${says}`);
  });
}

function fileWords(kind: EditedKind): string {
  return kind === "user" ? "your own file" : "the project's file";
}

function whereToRemove(kind: EditedKind): string {
  if (kind === "project") return "Leave out --project to remove it from your own file.";
  return "`trunkline config show --origin` shows where it is set; --project removes it from the project's file.";
}

function nearest(name: string, names: readonly string[]): string {
  const [near] = suggest(name, names);
  if (near !== undefined) return `Did you mean '${near}'?`;
  return names.length === 0 ? "It has none at all." : `It has: ${names.join(", ")}.`;
}

/** The program of an entry, as it is written into a file. */
export interface ProgramEntry {
  readonly command: string;
  readonly args?: readonly string[];
}

/**
 * A command line as an entry. A relative path counts from the folder of the configuration file, not from
 * where the command was typed, so it is written as what it means: `pathFor` says that.
 */
export function programEntry(
  [command = "", ...args]: readonly string[],
  pathFor: (path: string) => string,
): ProgramEntry {
  const written = isRelative(command) ? pathFor(command) : command;
  return { command: written, ...(args.length === 0 ? {} : { args }) };
}

export function isRelative(command: string): boolean {
  return /^\.\.?\//.test(command);
}

import { dirname, relative, resolve } from "node:path";
import { text } from "node:stream/consumers";

import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { counted } from "../../base/text/counted.ts";
import type { ConfigInput } from "../../config/config.ts";
import {
  addConfigEntry,
  type EntryPlace,
  type EntrySection,
  isRelative,
  type ProgramEntry,
  programEntry,
  removeConfigEntry,
} from "../../config/edit/config-entries.ts";
import type { EditedConfig, EditedKind } from "../../config/edit/edit-config.ts";
import type { ConfigValues } from "../../config/layer.ts";
import { projectFilePlace, userFile } from "../../config/locations.ts";
import { findProgram } from "../../run/open/find-program.ts";
import { askSecret } from "../shell/ask.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { linesText, print } from "../shell/layout.ts";
import { configFlags } from "../shell/open-app.ts";

/** Options of commands that change the configuration. */
export type EditValues = OptionValues<never, "project">;

export function inputOf({ cwd, env, values }: Invocation<EditValues>): ConfigInput {
  return { cwd, env, flags: configFlags(values) };
}

export function kindOf({ values }: Invocation<EditValues>): EditedKind {
  return values.project === true ? "project" : "user";
}

/** Prints which file was changed, with notes. `did` is the beginning of the sentence, up to the file's name. */
export function tellEdited(
  invocation: Invocation<EditValues>,
  edited: EditedConfig,
  did: string,
  next?: string,
): number {
  const { file, isChanged, isCreated, notes } = edited;
  const says = isChanged ? did : "Nothing had to be changed in";
  const line = `${visibleLine(says)} ${visibleLine(file)}${isCreated ? " (new file)" : ""}.`;
  const text = linesText([line, ...(next === undefined ? [] : [next])]);
  return print(invocation, edited, text, { notes: notes.map((note) => `note: ${note}`) });
}

type AddEntryValues = EditValues & OptionValues<never, "replace">;

/** Adds an entry to the configuration file, and says what to do next. */
export async function addEntry(
  invocation: Invocation<AddEntryValues>,
  section: EntrySection,
  name: string,
  value: ConfigValues,
  next?: string,
): Promise<number> {
  const replace = invocation.values.replace === true || "--replace replaces it";
  const edited = await addConfigEntry(placeOf(invocation), section, name, value, replace);
  return tellEdited(invocation, edited, `Added ${section.what} '${name}' to`, next);
}

/** Removes an entry from the configuration file. */
export async function removeEntry(
  invocation: Invocation<EditValues>,
  section: EntrySection,
  name: string,
): Promise<number> {
  const edited = await removeConfigEntry(placeOf(invocation), section, name);
  return tellEdited(invocation, edited, `Removed ${section.what} '${name}' from`);
}

function placeOf(invocation: Invocation<EditValues>): EntryPlace {
  return { input: inputOf(invocation), kind: kindOf(invocation) };
}

/** A command line as an entry. */
export function programOf(
  invocation: Invocation<EditValues>,
  words: readonly string[],
): ProgramEntry {
  return programEntry(words, (path) => pathFor(invocation, path));
}

/** Notes that a program is not installed. Its entry is written all the same: it may be installed later. */
export function noteMissingProgram({ cwd, env, err }: Invocation, command: string): void {
  const path = isRelative(command) ? resolve(cwd, command) : command;
  if (findProgram(path, env.PATH ?? "") !== undefined) return;
  err(`note: There is no program '${command}' here, or it cannot be run.\n`);
}

/** A path as it is written to the changed file: absolute in the user's file, relative in a project's. */
export function pathFor(invocation: Invocation<EditValues>, path: string): string {
  const absolute = resolve(invocation.cwd, path);
  if (kindOf(invocation) === "user") return absolute;
  const way = relative(dirname(projectFilePlace(invocation.cwd)), absolute);
  return way.startsWith("..") ? way : `./${way}`;
}

/** The file that an entry came from, in words for a list. */
export function fileOf(invocation: Invocation<EditValues>, where: string): string {
  const file = where.replace(/:\d+:\d+$/, "");
  return file === userFile(inputOf(invocation)).path ? "your file" : file;
}

/** How values are read that are not on the command line. */
type ReadSecrets = (names: readonly string[]) => Promise<readonly string[]>;

/**
 * Reads `NAME=VALUE` of options; a header may also be `NAME: VALUE`. The value of a name alone is a
 * secret: it is asked for at a terminal, or is a line of standard input.
 */
export async function readPairs(
  option: "--env" | "--header",
  given: readonly string[] = [],
  secrets: ReadSecrets = readSecrets,
): Promise<Record<string, string>> {
  const separator = option === "--env" ? /=/ : /=|:\s*/;
  const pairs = given.map((each): [string, string | undefined] => {
    const at = each.search(separator);
    if (at < 0) return [each, undefined];
    return [each.slice(0, at).trim(), each.slice(at).replace(separator, "")];
  });
  for (const [name] of pairs) {
    if (/^[\w.-]+$/.test(name)) continue;
    throw new TrunklineError("usage", `Cannot read '${option} ${name}': write it as NAME=VALUE.`);
  }
  const unknown = pairs.filter(([, value]) => value === undefined).map(([name]) => name);
  const answers = unknown.length === 0 ? [] : await secrets(unknown);
  const entries = pairs.map(([name, value]) => [
    name,
    value ?? answers[unknown.indexOf(name)] ?? "",
  ]);
  return Object.fromEntries(entries) as Record<string, string>;
}

async function readSecrets(names: readonly string[]): Promise<readonly string[]> {
  if (process.stdin.isTTY) {
    const answers: string[] = [];
    for (const name of names) answers.push(await askSecret(`${name}: `));
    return answers;
  }
  const lines = (await text(process.stdin)).split(/\r?\n/).filter((line) => line !== "");
  if (lines.length === names.length) return lines;
  const says = `standard input has ${counted(lines.length, "line")}, but ${names.length} are needed: one for each of ${names.join(", ")}`;
  throw new TrunklineError("usage", `Cannot read the values: ${says}.`);
}

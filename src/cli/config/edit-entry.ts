import { dirname, relative, resolve } from "node:path";
import { text } from "node:stream/consumers";

import { TrunklineError } from "../../base/errors.ts";
import { suggest } from "../../base/text/suggest.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { counted } from "../../base/text/counted.ts";
import type { ConfigInput } from "../../config/config.ts";
import { editConfig, type EditedConfig, type EditedKind } from "../../config/edit/edit-config.ts";
import { isValues, valueAt, type Values as ConfigValues } from "../../config/layer.ts";
import { loadConfig } from "../../config/load.ts";
import { projectFilePlace, userFile } from "../../config/locations.ts";
import { findProgram } from "../../run/open/find-program.ts";
import { askSecret } from "../shell/ask.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { linesText, print } from "../shell/layout.ts";
import { configFlags } from "../shell/open-app.ts";

/** Options of commands that change the configuration. */
export type Editing = OptionValues<never, "project">;

export function inputOf({ cwd, env, values }: Invocation<Editing>): ConfigInput {
  return { cwd, env, flags: configFlags(values) };
}

export function kindOf({ values }: Invocation<Editing>): EditedKind {
  return values.project === true ? "project" : "user";
}

/** Prints which file was changed, with notes. `did` is the beginning of the sentence, up to the file's name. */
export function tellEdited(
  invocation: Invocation<Editing>,
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

/** A part of the configuration that has entries by name, such as `mcpServers`. */
export interface EntrySection {
  /** What an entry is called in messages. */
  readonly what: string;
  readonly path: readonly string[];
}

type Adding = Editing & OptionValues<never, "replace">;

/** Adds an entry to the configuration file, and says what to do next. */
export async function addEntry(
  invocation: Invocation<Adding>,
  { what, path }: EntrySection,
  name: string,
  value: ConfigValues,
  next?: string,
): Promise<number> {
  if (name === "") throw new TrunklineError("usage", `Cannot add the ${what}: it has no name.`);
  const edited = await editConfig(inputOf(invocation), kindOf(invocation), (now) => {
    const isThere = valueAt(now, [...path, name]) !== undefined;
    if (isThere && invocation.values.replace !== true) {
      const says = `there is one with that name. --replace replaces it`;
      throw new TrunklineError("conflict", `Cannot add ${what} '${name}': ${says}.`);
    }
    return [{ path: [...path, name], value }];
  });
  return tellEdited(invocation, edited, `Added ${what} '${name}' to`, next);
}

/** Removes an entry from the configuration file. */
export async function removeEntry(
  invocation: Invocation<Editing>,
  { what, path }: EntrySection,
  name: string,
): Promise<number> {
  const input = inputOf(invocation);
  const kind = kindOf(invocation);
  // Loaded before: it tells where the entry is, if not in the file that is to be changed.
  const elsewhere = await loadConfig(input).catch(() => undefined);
  const edited = await editConfig(input, kind, (now) => {
    const entries = valueAt(now, path);
    const names = isValues(entries) ? Object.keys(entries) : [];
    if (names.includes(name)) return [{ path: [...path, name], value: undefined }];
    const isElsewhere = valueAt(elsewhere?.config, [...path, name]) !== undefined;
    const next = isElsewhere ? whereToRemove(kind) : nearest(name, names);
    const says = `${fileWords(kind)} has no ${what} with that name. ${next}`;
    throw new TrunklineError("not-found", `Cannot remove ${what} '${name}': ${says}`);
  });
  return tellEdited(invocation, edited, `Removed ${what} '${name}' from`);
}

function fileWords(kind: "user" | "project"): string {
  return kind === "user" ? "your own file" : "the project's file";
}

function whereToRemove(kind: "user" | "project"): string {
  if (kind === "project") return "Leave out --project to remove it from your own file.";
  return "`trunkline config show --origin` shows where it is set; --project removes it from the project's file.";
}

function nearest(name: string, names: readonly string[]): string {
  const [near] = suggest(name, names);
  if (near !== undefined) return `Did you mean '${near}'?`;
  return names.length === 0 ? "It has none at all." : `It has: ${names.join(", ")}.`;
}

/** The program of an entry, as it is written into a file. */
interface ProgramEntry {
  readonly command: string;
  readonly args?: readonly string[];
}

/**
 * A command line as an entry. A relative path counts from the folder of the configuration file, not
 * from where the command was typed, so it is written as what it means.
 */
export function programOf(
  invocation: Invocation<Editing>,
  [command = "", ...args]: readonly string[],
): ProgramEntry {
  const written = isRelative(command) ? pathFor(invocation, command) : command;
  return { command: written, ...(args.length === 0 ? {} : { args }) };
}

/** Notes that a program is not installed. Its entry is written all the same: it may be installed later. */
export function noteMissingProgram({ cwd, env, err }: Invocation, command: string): void {
  const path = isRelative(command) ? resolve(cwd, command) : command;
  if (findProgram(path, env.PATH ?? "") !== undefined) return;
  err(`note: There is no program '${command}' here, or it cannot be run.\n`);
}

function isRelative(command: string): boolean {
  return /^\.\.?\//.test(command);
}

/** A path as it is written to the changed file: absolute in the user's file, relative in a project's. */
export function pathFor(invocation: Invocation<Editing>, path: string): string {
  const absolute = resolve(invocation.cwd, path);
  if (kindOf(invocation) === "user") return absolute;
  const way = relative(dirname(projectFilePlace(invocation.cwd)), absolute);
  return way.startsWith("..") ? way : `./${way}`;
}

/** The file that an entry came from, in words for a list. */
export function fileOf(invocation: Invocation<Editing>, where: string): string {
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

import { TrunklineError } from "../../base/errors.ts";
import { PROGRAM } from "../commands.ts";
import {
  type Argument,
  callOf,
  childOf,
  type Command,
  GLOBAL_OPTIONS,
  type Invocation,
  endOf,
  offeredBy,
  type Options,
  type OptionSpec,
  type Path,
} from "../shell/command.ts";
import { columns, paint, type Style, wrap } from "../shell/layout.ts";
import { unknownCommand } from "../shell/parse.ts";

export async function run(invocation: Invocation): Promise<number> {
  let path: Path = [PROGRAM];
  for (const given of invocation.positionals) {
    const child = childOf(endOf(path), given);
    if (child === undefined) throw new TrunklineError("usage", unknownCommand(path, given));
    path = [...path, child];
  }
  invocation.out(renderHelp(path, invocation));
  return 0;
}

/** The help of one command: usage first, what every command shares last. */
export function renderHelp(path: Path, { width, color }: Style): string {
  const command = endOf(path);
  const heading = (text: string): string => paint("bold", text, color);
  const dim = (text: string): string => paint("dim", text, color);
  const section = (title: string, lines: readonly string[]): string[] =>
    lines.length === 0 ? [] : ["", heading(title), ...lines];

  const [usage = "", ...more] = wrap(usageOf(path), width - 7);
  const lines = [
    `${heading("Usage:")} ${usage}`,
    ...more.map((line) => " ".repeat(7) + line),
    "",
    ...wrap(`${command.summary}.`, width),
    ...paragraphs(command, width),
    ...section("Arguments:", columns((command.args ?? []).map(argumentRow), width)),
    ...commandLists(command, width).flatMap(([title, rows]) => section(title, rows)),
    ...section("Options:", columns(optionRows(command.options ?? {}), width)),
    ...section(
      "Examples:",
      Object.entries(command.examples).flatMap(([line, does]) => [
        // The line is for copying, so it is never broken.
        `  ${line}`,
        ...wrap(does, width - 6).map((text) => `      ${dim(text)}`),
      ]),
    ),
    ...section("Global options:", columns(optionRows(globalsOf(command)), width)),
  ];
  return lines.join("\n") + "\n";
}

function paragraphs({ description = "" }: Command, width: number): string[] {
  const texts = description.split(/\n\s*\n/).filter((text) => text.trim() !== "");
  return texts.flatMap((text) => ["", ...wrap(text, width)]);
}

function argumentRow(argument: Argument): [string, string] {
  return [argumentLabel(argument), describe(argument)];
}

/** The lists of commands with their headings, all of one width. */
function commandLists(command: Command, width: number): [string, string[]][] {
  const offered = offeredBy(command);
  const widest = Math.max(0, ...offered.map(({ name }) => name.length));
  const lists = Map.groupBy(offered, ({ heading = "Commands" }) => heading);
  return [...lists].map(([title, list]) => [
    `${title}:`,
    columns(
      list.map(({ name, summary }) => [name, summary]),
      width,
      widest,
    ),
  ]);
}

function optionRows(options: Options): [string, string][] {
  const anyShort = Object.values(options).some(({ short }) => short !== undefined);
  return Object.entries(options).map(([name, spec]) => {
    const short = spec.short === undefined ? "    " : `-${spec.short}, `;
    return [(anyShort ? short : "") + optionLabel(name, spec), describe(spec)];
  });
}

/** The global options that the command has not taken for itself. */
function globalsOf({ options = {} }: Command): Options {
  const entries = Object.entries(GLOBAL_OPTIONS).filter(([name]) => !Object.hasOwn(options, name));
  return Object.fromEntries(entries);
}

/** How a command is called: `trunkline completion SHELL [OPTIONS]`. */
export function usageOf(path: Path): string {
  const { args = [], commands, load } = endOf(path);
  const words = [callOf(path), ...args.map(argumentLabel)];
  if (commands !== undefined) words.push(load === undefined ? "COMMAND" : "[COMMAND]");
  return [...words, "[OPTIONS]"].join(" ");
}

export function argumentLabel({ name, optional, variadic }: Argument): string {
  const label = variadic ? `${name}…` : name;
  return optional ? `[${label}]` : label;
}

/** How an option is written: `--port PORT`. */
export function optionLabel(name: string, { type, value = "VALUE" }: OptionSpec): string {
  return type === "boolean" ? `--${name}` : `--${name} ${value}`;
}

/** The description of an option or argument, with its choices and its default. */
export function describe(spec: OptionSpec | Argument): string {
  const notes: string[] = [];
  if (spec.choices !== undefined) notes.push(`one of: ${spec.choices.join(", ")}`);
  if ("default" in spec) notes.push(`default: ${[spec.default].flat().join(", ")}`);
  return notes.length === 0 ? spec.describe : `${spec.describe} (${notes.join("; ")})`;
}

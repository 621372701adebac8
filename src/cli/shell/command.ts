/**
 * One command of the program, as data: the parser, help, completion and the reference all read it.
 * A command runs (`load`), or is a group of others (`commands`), or is both: then it runs when no other
 * is named.
 */
export interface Command {
  readonly name: string;
  /** Names that it had before. They go on working, and say the new one. */
  readonly formerly?: readonly string[];
  /** Under which heading the help of its parent lists it. */
  readonly heading?: string;
  /** Only other programs call it. Help and completion do not offer it; the reference has it. */
  readonly isForPrograms?: boolean;
  /** One line for lists, without a full stop. */
  readonly summary: string;
  /** Text for the command's own help; an empty line separates paragraphs. */
  readonly description?: string;
  readonly args?: readonly Argument[];
  /** Its own options, besides the global ones. One with the same name replaces the global option. */
  readonly options?: Options;
  /** Whole lines as typed in a shell, each with what it does. */
  readonly examples: Readonly<Record<string, string>>;
  readonly commands?: readonly Command[];
  /** What the word after the name of one of its commands looks like; else both are its own arguments. */
  readonly commandsTake?: RegExp;
  /** Imports the code. Only the command that runs is loaded. */
  readonly load?: () => Promise<Runner>;
}

/** A command of `commandsIn`, by the name of its function. */
export type CommandEntry = Omit<Command, "name"> & {
  readonly name?: string;
  /** It prints no data, so it has no `--json`. */
  readonly printsNoData?: boolean;
};

/**
 * Commands whose code is one module: its functions, unless they say where theirs is. They have `--json`
 * without saying so.
 */
export function commandsIn<Module extends object, Names extends string>(
  load: () => Promise<Module>,
  commands: Readonly<Record<Names, CommandEntry>> & {
    readonly [Name in Exclude<Names, keyof Module>]:
      | Required<Pick<Command, "load">>
      | Required<Pick<Command, "commands">>;
  },
): Command[] {
  return Object.entries<CommandEntry>(commands).map(([key, entry]) => {
    const { printsNoData = false, options = {}, ...command } = entry;
    if (command.commands !== undefined) return { name: key, options, ...command };
    const own = async () => ({ run: (await load())[key as keyof Module] as Runner["run"] });
    const all = printsNoData ? options : { ...options, json: options["json"] ?? json };
    return { name: key, load: own, ...command, options: all };
  });
}

/** What a person gives names to. Shells complete them. */
export type NameKind =
  | "agent"
  | "identity"
  | "plugin"
  | "profile"
  | "provider"
  | "server"
  | "session"
  | "token";

/** A positional argument. */
export interface Argument {
  /** In capitals. Shells complete files for `FILE`, folders for `DIR`, commands for `COMMAND`. */
  readonly name: string;
  readonly describe: string;
  readonly choices?: readonly string[];
  /** It is one of these names. */
  readonly names?: NameKind;
  readonly optional?: boolean;
  readonly mayBeEmpty?: boolean;
  /** Takes all remaining arguments; only the last one can. */
  readonly variadic?: boolean;
}

export type Options = Readonly<Record<string, OptionSpec>>;

export interface OptionSpec {
  readonly type: "string" | "boolean";
  /** One letter. */
  readonly short?: string;
  /** May be given again; its value is a list. */
  readonly multiple?: boolean;
  /** Placeholder in the help. Shells complete files for `FILE`, folders for `DIR`. */
  readonly value?: string;
  readonly describe: string;
  readonly choices?: readonly string[];
  /** Its value is one of these names. */
  readonly names?: NameKind;
  /**
   * `--name ""` says something. Elsewhere it is a variable of a script that is not set, and would
   * silently mean the current folder, or everything.
   */
  readonly mayBeEmpty?: boolean;
  /** What the command gets when the option is not given. */
  readonly default?: string | readonly string[];
  /** Its value is a command to run: `--mode mcp` is the same as `mcp`. */
  readonly namesCommand?: boolean;
}

export type OptionValue = string | boolean | readonly string[] | undefined;
export interface Values {
  readonly [name: string]: OptionValue;
  /** Every command that prints data has this option. */
  readonly json?: boolean;
}

/** The values of options that have a text, of flags, and of options that may be repeated. */
export type OptionValues<
  Text extends string = never,
  Flag extends string = never,
  List extends string = never,
> = Values & {
  readonly [name in Text]?: string;
} & { readonly [name in Flag]?: boolean } & { readonly [name in List]?: readonly string[] };

/**
 * What a command is run with. A command may name its own options' types:
 * `run(invocation: Invocation<OptionValues<"port", "verbose">>)`.
 */
export interface Invocation<V extends Values = Values> {
  readonly values: V;
  readonly positionals: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
  /**
   * Writes text for a person to stdout, without a line break. Hidden characters are escaped as in
   * JSON, so JSON can be written here too. A foreign value that has to stay on one line goes
   * through `visibleLine` first.
   */
  readonly out: (text: string) => void;
  /** The same to stderr. */
  readonly err: (text: string) => void;
  /** Writes data for another program to stdout, unchanged. On a terminal it is the same as `out`. */
  readonly data: (text: string) => void;
  /** Whether stdout may carry colours. */
  readonly color: boolean;
  /** Whether a person reads stdout. */
  readonly isTerminal: boolean;
  /** Most columns to fill with sentences. */
  readonly width: number;
  /** Where lines of a list are cut: at the edge of a terminal. What another program reads is not cut. */
  readonly edge: number;
}

/** The code of a command. Written as a method so that `run` may name its options' types. */
export interface Runner {
  /** Resolves to the exit code: 0 success, 1 the thing failed, 2 wrong usage. */
  run(invocation: Invocation): Promise<number>;
}

/** The commands from the program down to one command. */
export type Path = readonly [Command, ...Command[]];

/** The command that a path leads to. */
export function endOf(path: Path): Command {
  return path.at(-1) ?? path[0];
}

/** The words that call a command: `trunkline config show`. */
export function callOf(path: Path): string {
  return path.map(({ name }) => name).join(" ");
}

/** The command of a group that has this name, or had it. */
export function childOf(group: Command, given: string): Command | undefined {
  return group.commands?.find(
    ({ name, formerly }) => name === given || formerly?.includes(given) === true,
  );
}

/** The commands of a group that people call. */
export function offeredBy({ commands = [] }: Command): readonly Command[] {
  return commands.filter(({ isForPrograms }) => isForPrograms !== true);
}

/** A command and everything under it, in the order of the table. */
export function allPaths(path: Path): Path[] {
  const children = endOf(path).commands ?? [];
  return [path, ...children.flatMap((child) => allPaths([...path, child]))];
}

/** A positional argument: `NAME`, `[NAME]` if it may be left out, `NAME...` if it may be repeated. */
export function arg(
  name: string,
  describe: string,
  more: Pick<Argument, "choices" | "mayBeEmpty" | "names"> = {},
): Argument {
  const optional = name.startsWith("[");
  const variadic = /\.\.\.\]?$/.test(name);
  const marks = { ...(optional && { optional }), ...(variadic && { variadic }) };
  return { name: name.replaceAll(/[[\].]/g, ""), describe, ...marks, ...more };
}

/** An option without a value. */
export function flag(describe: string, more: Pick<OptionSpec, "short"> = {}): OptionSpec {
  return { type: "boolean", describe, ...more };
}

/** An option with a value. `VALUE...` may be given again. */
export function text(
  value: string,
  describe: string,
  more: Omit<OptionSpec, "type" | "value" | "describe" | "multiple"> = {},
): OptionSpec {
  const multiple = value.endsWith("...");
  const name = multiple ? value.slice(0, -3) : value;
  return { type: "string", value: name, describe, ...(multiple && { multiple }), ...more };
}

/** Options of every command. */
export const GLOBAL_OPTIONS: Options = {
  config: text("FILE", "Read the configuration from FILE (also TRUNKLINE_CONFIG)"),
  data: text("DIR", "Store all state in DIR (also TRUNKLINE_DATA)"),
  set: text("KEY=VALUE...", "Set one configuration value for this run; may be repeated"),
  verbose: flag("Log every message to stderr (also TRUNKLINE_VERBOSE=1)"),
  help: flag("Show this help", { short: "h" }),
};

export function optionsOf(command: Command): Options {
  return { ...GLOBAL_OPTIONS, ...command.options };
}

/** The option of every command that prints data. */
export const json = flag("Print JSON");

/** The option of every command that changes the configuration. */
export const project = flag("Change the project's .trunkline.jsonc instead of your own file");

/**
 * One command of the program, as data: the parser, help, completion and the reference all read it.
 * A command runs (`load`), or is a group of others (`commands`), or is both: then it runs when no other
 * is named.
 */
export interface Command {
  readonly name: string;
  /** One line for lists, without a full stop. */
  readonly summary: string;
  /** Text for the command's own help; an empty line separates paragraphs. */
  readonly description?: string;
  readonly args?: readonly Argument[];
  /** Its own options, besides the global ones. One with the same name replaces the global option. */
  readonly options?: Options;
  readonly examples: readonly [Example, ...Example[]];
  readonly commands?: readonly Command[];
  /** Imports the code. Only the command that runs is loaded. */
  readonly load?: () => Promise<Runner>;
}

/** A positional argument. */
export interface Argument {
  /** In capitals. Shells complete files for `FILE`, folders for `DIR`, commands for `COMMAND`. */
  readonly name: string;
  readonly describe: string;
  readonly choices?: readonly string[];
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

export interface Example {
  /** The whole line as typed in a shell. */
  readonly run: string;
  readonly explains: string;
}

export type OptionValue = string | boolean | readonly string[] | undefined;
export type Values = Readonly<Record<string, OptionValue>>;

/**
 * What a command is run with. A command may name its own options' types:
 * `run(invocation: Invocation<{ port: string; json?: boolean }>)`.
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
  run(invocation: Invocation, program: Command): Promise<number>;
  /** Nothing that it began goes on when it resolves: the process may end at once, which saves time. */
  readonly leavesNothing?: boolean;
}

/** The commands from the program down to one command. */
export type Path = readonly [Command, ...Command[]];

/** The command that a path leads to. */
export function last(path: Path): Command {
  return path.at(-1) ?? path[0];
}

/** The words that call a command: `trunkline config show`. */
export function callOf(path: Path): string {
  return path.map(({ name }) => name).join(" ");
}

/** A command and everything under it, in the order of the table. */
export function allPaths(path: Path): Path[] {
  const children = last(path).commands ?? [];
  return [path, ...children.flatMap((child) => allPaths([...path, child]))];
}

/** Options of every command. */
export const GLOBAL_OPTIONS: Options = {
  config: {
    type: "string",
    value: "FILE",
    describe: "Read the configuration from FILE (also TRUNKLINE_CONFIG)",
  },
  data: {
    type: "string",
    value: "DIR",
    describe: "Store all state in DIR (also TRUNKLINE_DATA)",
  },
  set: {
    type: "string",
    value: "KEY=VALUE",
    multiple: true,
    describe: "Set one configuration value for this run; may be repeated",
  },
  verbose: {
    type: "boolean",
    describe: "Log every message to stderr (also TRUNKLINE_VERBOSE=1)",
  },
  help: { type: "boolean", short: "h", describe: "Show this help" },
};

export function optionsOf(command: Command): Options {
  return { ...GLOBAL_OPTIONS, ...command.options };
}

/** The option of every command that prints data. */
export const json = { type: "boolean", describe: "Print JSON" } as const;

/** The option of every command that changes the configuration. */
export const project = {
  type: "boolean",
  describe: "Change the project's .trunkline.jsonc instead of your own file",
} as const;

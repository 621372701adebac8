import {
  type Argument,
  callOf,
  type Command,
  GLOBAL_OPTIONS,
  last,
  optionsOf,
  type OptionSpec,
  type Path,
} from "../shell/command.ts";

/** What can follow once the words of `path` have been typed. */
export interface State {
  /** `trunkline config show` */
  readonly path: string;
  readonly commands: readonly Word[];
  readonly options: readonly StateOption[];
  readonly args: readonly StateArgument[];
}

export interface Word {
  readonly name: string;
  readonly summary: string;
}

export interface StateOption {
  readonly name: string;
  readonly short?: string;
  readonly describe: string;
  readonly multiple: boolean;
  /** Whether it is a global option, which every command has. */
  readonly isGlobal: boolean;
  /** Missing when the option takes no value. */
  readonly value?: Value;
}

export interface StateArgument {
  readonly value: Value;
  readonly optional: boolean;
  readonly variadic: boolean;
}

/** How a shell can complete a value. */
export interface Value {
  readonly label: string;
  readonly kind: "words" | "files" | "folders" | "anything";
  readonly words: readonly string[];
}

/** Every state of the program. The shells' scripts are this list, each in its own language. */
export function completionStates(program: Command): State[] {
  return statesUnder([program], program);
}

function statesUnder(path: Path, program: Command): State[] {
  const command = last(path);
  const commands = command.commands ?? [];
  const options = Object.entries(optionsOf(command)).map(([name, spec]) => optionOf(name, spec));
  const state = { path: callOf(path), commands: commands.map(wordOf), options, args: [] };
  if (state.path === "trunkline help") return topics(state, program);
  const args = (command.args ?? []).map(argumentOf);
  return [
    { ...state, args },
    ...commands.flatMap((child) => statesUnder([...path, child], program)),
  ];
}

/** `trunkline help config` goes on with the commands of `config`, but with the options of `help`. */
function topics(state: State, group: Command): State[] {
  const { commands = [] } = group;
  if (commands.length === 0) return [];
  const inner = commands.map((child) =>
    topics({ ...state, path: `${state.path} ${child.name}` }, child),
  );
  return [{ ...state, commands: commands.map(wordOf) }, ...inner.flat()];
}

function wordOf({ name, summary }: Command): Word {
  return { name, summary };
}

function optionOf(name: string, spec: OptionSpec): StateOption {
  const { short, describe, multiple = false, type, value = "VALUE", choices } = spec;
  return {
    name,
    ...(short === undefined ? {} : { short }),
    describe,
    multiple,
    isGlobal: GLOBAL_OPTIONS[name] === spec,
    ...(type === "boolean" ? {} : { value: valueOf(value, choices) }),
  };
}

function argumentOf({
  name,
  choices,
  optional = false,
  variadic = false,
}: Argument): StateArgument {
  return { value: valueOf(name, choices), optional, variadic };
}

function valueOf(label: string, choices: readonly string[] | undefined): Value {
  if (choices !== undefined) return { label, kind: "words", words: choices };
  const isFile = label === "FILE" || label === "PLUGIN";
  const kind = isFile ? "files" : label === "DIR" ? "folders" : "anything";
  return { label, kind, words: [] };
}

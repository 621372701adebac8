import { PROGRAM } from "../commands.ts";
import {
  type Argument,
  callOf,
  type Command,
  GLOBAL_OPTIONS,
  type Invocation,
  last,
  optionsOf,
  type OptionSpec,
  type Path,
} from "../shell/command.ts";

const GENERATORS = { bash: bashScript, zsh: zshScript, fish: fishScript };

/** `trunkline completion SHELL` */
export async function run({ positionals, data }: Invocation): Promise<number> {
  // `choices` of the argument let no other word through.
  const generate = GENERATORS[positionals[0] as keyof typeof GENERATORS];
  data(generate(completionStates(PROGRAM)));
  return 0;
}

/** What can follow once the words of `path` have been typed. */
export interface State {
  /** `trunkline config show` */
  readonly path: string;
  readonly commands: readonly Word[];
  readonly options: readonly StateOption[];
  readonly args: readonly StateArgument[];
}

interface Word {
  readonly name: string;
  readonly summary: string;
}

interface StateOption {
  readonly name: string;
  readonly short?: string;
  readonly describe: string;
  readonly multiple: boolean;
  /** Whether it is a global option, which every command has. */
  readonly isGlobal: boolean;
  /** Missing when the option takes no value. */
  readonly value?: Value;
}

interface StateArgument {
  readonly value: Value;
  readonly optional: boolean;
  readonly variadic: boolean;
}

/** How a shell can complete a value. */
interface Value {
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

/** Works in bash 3.2 as well, which macOS still carries. */
export function bashScript(states: readonly State[]): string {
  const globals = states[0]?.options.filter(({ isGlobal }) => isGlobal) ?? [];
  const commands = states.slice(1).map(({ path }) => `"${path}"`);
  return `# Completion of trunkline for bash. Written by: trunkline completion bash

_trunkline_state() {
  case "$1" in
${states.map(stateCase).join("\n")}
  esac
  options="$options ${words(globals)}"
  valued="$valued ${words(globals.filter(takesValue))}"
}

_trunkline_value() {
  case "$1" in
${[...states.flatMap(valueCases), ...globals.flatMap(globalCase)].join("\n")}
  esac
}

_trunkline_reply() {
  local line
  while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$@" -- "$cur")
}

_trunkline_files() {
  # The default is for what compgen does not read, such as ~ and quotes.
  compopt -o filenames -o "$1" 2>/dev/null
  _trunkline_reply "$2"
}

_trunkline() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" path=trunkline option="" word
  local commands="" options="" valued=""
  local -i i=1 taken=0
  COMPREPLY=()
  _trunkline_state "$path"
  while ((i < COMP_CWORD)); do
    word="\${COMP_WORDS[i]}"
    i+=1
    case "$path $word" in
      ${commands.join(" | \\\n      ")})
        path="$path $word"
        _trunkline_state "$path"
        continue
        ;;
    esac
    case " $valued " in
      *" $word "*)
        # bash takes "=" and ":" for words of their own.
        if ((i < COMP_CWORD)) && [[ "\${COMP_WORDS[i]}" == "=" ]]; then i+=1; fi
        while [[ "\${COMP_WORDS[i + 1]-}" == ":" ]]; do i+=2; done
        if ((i >= COMP_CWORD)); then option="$word"; fi
        i+=1
        continue
        ;;
    esac
    if [[ "$word" != -* ]]; then taken+=1; fi
  done
  if [[ "$cur" == "=" ]]; then cur=""; fi
  if [[ -n "$option" ]]; then
    _trunkline_value "$path $option"
  elif [[ "$cur" == -* ]]; then
    _trunkline_reply -W "$options"
  elif [[ -n "$commands" ]]; then
    if ((taken == 0)); then _trunkline_reply -W "$commands"; fi
  else
    _trunkline_value "$path $taken"
  fi
}

complete -F _trunkline trunkline
`;
}

function stateCase({ path, commands, options }: State): string {
  const own = options.filter(({ isGlobal }) => !isGlobal);
  const assignments = [
    `commands="${commands.map(({ name }) => name).join(" ")}"`,
    `options="${words(own)}"`,
    `valued="${words(own.filter(takesValue))}"`,
  ];
  return `    "${path}") ${assignments.join(" ")} ;;`;
}

/** The values of a state's own options, and of its arguments by their number. */
function valueCases({ path, options, args }: State): string[] {
  const own = options.filter(({ isGlobal }) => !isGlobal);
  const ofOptions = own.flatMap((option) => optionCase((flag) => `"${path} ${flag}"`, option));
  const ofArgs = args.map(({ value, variadic }, i) => {
    const pattern = variadic ? `"${path} "[0-9]*` : `"${path} ${i}"`;
    return `    ${pattern}) ${bashAction(value)} ;;`;
  });
  return [...ofOptions, ...ofArgs];
}

function globalCase(option: StateOption): string[] {
  return optionCase((flag) => `*" ${flag}"`, option);
}

function optionCase(pattern: (flag: string) => string, option: StateOption): string[] {
  if (option.value === undefined) return [];
  return [`    ${flags(option).map(pattern).join(" | ")}) ${bashAction(option.value)} ;;`];
}

function bashAction({ kind, words: choices }: Value): string {
  switch (kind) {
    case "words":
      return `_trunkline_reply -W "${choices.join(" ")}"`;
    case "files":
      return "_trunkline_files default -f";
    case "folders":
      return "_trunkline_files dirnames -d";
    case "anything":
      return ":";
  }
}

function takesValue({ value }: StateOption): boolean {
  return value !== undefined;
}

function words(options: readonly StateOption[]): string {
  return options.flatMap(flags).join(" ");
}

function flags({ name, short }: StateOption): string[] {
  return short === undefined ? [`--${name}`] : [`-${short}`, `--${name}`];
}

/** One function for each state, each handing the words that are left to the next. */
export function zshScript(states: readonly State[]): string {
  return `#compdef trunkline
# Completion of trunkline for zsh. Written by: trunkline completion zsh

${states.map((state) => stateFunction(state, states)).join("\n\n")}

# Autoloaded from fpath the file is the function's body; sourced, it has to be announced.
if [[ "\${funcstack[1]}" == "_trunkline" ]]; then
  _trunkline "$@"
else
  compdef _trunkline trunkline
fi
`;
}

function stateFunction(state: State, states: readonly State[]): string {
  const { path, commands, options, args } = state;
  const specs = [...options.map(optionSpec), ...args.map(argumentSpec)];
  if (commands.length === 0) {
    return `${functionName(path)}() {
  _arguments -s \\
    ${specs.join(" \\\n    ")}
}`;
  }
  return `${functionName(path)}() {
  local curcontext="$curcontext" state line
  local -A opt_args
  local -a commands=(
${commands.map(({ name, summary }) => `    ${zshQuote(`${name}:${summary}`)}`).join("\n")}
  )
  _arguments -C -s -A '-*' \\
    ${[...specs, "'1: :->command'", "'*:: :->rest'"].join(" \\\n    ")}
  case "$state" in
    command) _describe -t commands command commands ;;
    rest)
      case "\${words[1]}" in
${nextStates(state, states).join("\n")}
      esac
      ;;
  esac
}`;
}

function nextStates({ path, commands }: State, states: readonly State[]): string[] {
  return commands.flatMap(({ name }) => {
    const next = states.find((state) => state.path === `${path} ${name}`);
    return next === undefined ? [] : [`        ${name}) ${functionName(next.path)} ;;`];
  });
}

function optionSpec(option: StateOption): string {
  const { describe, multiple, value } = option;
  const words = flags(option);
  const once = multiple ? "*" : words.length > 1 ? `(${words.join(" ")})` : "";
  const takes = value === undefined ? "" : `:${escape(value.label)}:${zshAction(value)}`;
  return words
    .map((flag) => {
      const written = value === undefined ? flag : flag.startsWith("--") ? `${flag}=` : `${flag}+`;
      return zshQuote(`${once}${written}[${escape(describe)}]${takes}`);
    })
    .join(" ");
}

function argumentSpec({ value, optional, variadic }: StateArgument): string {
  const start = variadic ? "*:" : optional ? "::" : ":";
  return zshQuote(`${start}${escape(value.label)}:${zshAction(value)}`);
}

function zshAction({ kind, words }: Value): string {
  switch (kind) {
    case "words":
      return `(${words.join(" ")})`;
    case "files":
      return "_files";
    case "folders":
      return "_files -/";
    case "anything":
      return " ";
  }
}

function functionName(path: string): string {
  return `_${path.replaceAll(/[^a-z0-9]+/g, "_")}`;
}

/** Characters that mean something inside a specification of `_arguments`. */
function escape(text: string): string {
  return text.replaceAll(/[\\[\]:]/g, "\\$&");
}

function zshQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

/** One `complete` line for each word, on the condition that the line has reached its state. */
export function fishScript(states: readonly State[]): string {
  const commands = states.slice(1).map(({ path }) => fishQuote(path));
  const valued = new Set(
    states.flatMap(({ path, options }) =>
      options.flatMap((option) => valuedPatterns(path, option)),
    ),
  );
  return `# Completion of trunkline for fish. Written by: trunkline completion fish

# Whether the words before the cursor lead to a state: __trunkline_at STATE [ARGUMENTS [or-more]]
function __trunkline_at
    set -l state trunkline
    set -l taken 0
    set -l skip 0
    for word in (commandline -opc)[2..]
        if test $skip = 1
            set skip 0
            continue
        end
        switch "$state $word"
            case ${commands.join(" \\\n                ")}
                set state "$state $word"
            case ${[...valued].join(" \\\n                ")}
                set skip 1
            case '* -*'
            case '*'
                set taken (math $taken + 1)
        end
    end
    test "$state" = "$argv[1]"; or return 1
    set -q argv[2]; or return 0
    test $taken = $argv[2]; and return 0
    set -q argv[3]; and test $taken -gt $argv[2]
end

complete -c trunkline -f
${states.flatMap(stateLines).join("\n")}
`;
}

function stateLines({ path, commands, options, args }: State): string[] {
  const ofCommands = commands.map(
    ({ name, summary }) => `${complete(path, " 0")} -a ${name} -d ${fishQuote(summary)}`,
  );
  const ofOptions = options.map(({ name, short, describe, value }) => {
    const letter = short === undefined ? "" : ` -s ${short}`;
    const takes = value === undefined ? "" : optionValue(value);
    return `${complete(path)}${letter} -l ${name}${takes} -d ${fishQuote(describe)}`;
  });
  const ofArgs = args.flatMap(({ value, variadic }, i) => {
    const words = argumentValue(value);
    return words === "" ? [] : [complete(path, variadic ? ` ${i} or-more` : ` ${i}`) + words];
  });
  return [...ofCommands, ...ofOptions, ...ofArgs];
}

function complete(path: string, taken = ""): string {
  return `complete -c trunkline -n "__trunkline_at '${path}'${taken}"`;
}

function optionValue(value: Value): string {
  return value.kind === "files" ? " -r -F" : ` -x${argumentValue(value)}`;
}

function argumentValue({ kind, words }: Value): string {
  switch (kind) {
    case "words":
      return ` -a ${fishQuote(words.join(" "))}`;
    case "files":
      return " -F";
    case "folders":
      return " -a '(__fish_complete_directories)'";
    case "anything":
      return "";
  }
}

function valuedPatterns(path: string, option: StateOption): string[] {
  const { value, isGlobal } = option;
  if (value === undefined) return [];
  return flags(option).map((flag) => fishQuote(`${isGlobal ? "*" : path} ${flag}`));
}

function fishQuote(text: string): string {
  return `'${text.replaceAll(/['\\]/g, "\\$&")}'`;
}

import type { State, StateArgument, StateOption, Value } from "./completion-states.ts";

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
${commands.map(({ name, summary }) => `    ${quote(`${name}:${summary}`)}`).join("\n")}
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

function optionSpec({ name, short, describe, multiple, value }: StateOption): string {
  const flags = short === undefined ? [`--${name}`] : [`-${short}`, `--${name}`];
  const once = multiple ? "*" : flags.length > 1 ? `(${flags.join(" ")})` : "";
  const takes = value === undefined ? "" : `:${escape(value.label)}:${actionOf(value)}`;
  return flags
    .map((flag) => {
      const written = value === undefined ? flag : flag.startsWith("--") ? `${flag}=` : `${flag}+`;
      return quote(`${once}${written}[${escape(describe)}]${takes}`);
    })
    .join(" ");
}

function argumentSpec({ value, optional, variadic }: StateArgument): string {
  const start = variadic ? "*:" : optional ? "::" : ":";
  return quote(`${start}${escape(value.label)}:${actionOf(value)}`);
}

function actionOf({ kind, words }: Value): string {
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

function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

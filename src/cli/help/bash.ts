import type { State, StateOption, Value } from "./completion-states.ts";

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
    return `    ${pattern}) ${actionOf(value)} ;;`;
  });
  return [...ofOptions, ...ofArgs];
}

function globalCase(option: StateOption): string[] {
  return optionCase((flag) => `*" ${flag}"`, option);
}

function optionCase(pattern: (flag: string) => string, option: StateOption): string[] {
  if (option.value === undefined) return [];
  return [`    ${flags(option).map(pattern).join(" | ")}) ${actionOf(option.value)} ;;`];
}

function actionOf({ kind, words: choices }: Value): string {
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

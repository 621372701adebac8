import { PROGRAM } from "../commands.ts";
import {
  childOf,
  type Command,
  type Invocation,
  type NameKind,
  offeredBy,
  optionsOf,
  type OptionSpec,
} from "../shell/command.ts";

/** A script for each shell, which asks `trunkline completion SHELL -- WORD...` what may follow. */
export const SCRIPTS = {
  // Works in bash 3.2 as well, which macOS still carries.
  bash: `# Completion of trunkline for bash. Written by: trunkline completion bash
_trunkline() {
  local cur="\${COMP_WORDS[COMP_CWORD]}" words last offered line
  # Unlike COMP_WORDS, not split at "=" and ":". The dot keeps a last word that is empty.
  read -ra words <<< "\${COMP_LINE:0:COMP_POINT}."
  last=$((\${#words[@]} - 1))
  words[last]="\${words[last]%.}"
  if [[ "$cur" == "=" ]]; then cur=""; fi
  offered="$(trunkline completion bash -- "\${words[@]:1}" 2>/dev/null)"
  # The defaults are for what compgen does not read, such as ~ and quotes.
  case "$offered" in
    :files) set -- -f; compopt -o filenames -o default 2>/dev/null ;;
    :folders) set -- -d; compopt -o filenames -o dirnames 2>/dev/null ;;
    *) set -- -W "$offered" ;;
  esac
  COMPREPLY=()
  while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen "$@" -- "$cur")
}
complete -F _trunkline trunkline
`,
  zsh: `#compdef trunkline
# Completion of trunkline for zsh. Written by: trunkline completion zsh
_trunkline() {
  local offered="$(trunkline completion zsh -- "\${(@Q)words[2,CURRENT-1]}" "$PREFIX" 2>/dev/null)"
  compset -P '--*='
  case "$offered" in
    :files) _files ;;
    :folders) _files -/ ;;
    ?*)
      local -a described=("\${(@f)offered}")
      _describe word described
      ;;
  esac
}
# If zsh autoloads this file, it is the body of the function; if it is sourced, register the function.
if [[ "\${funcstack[1]}" == "_trunkline" ]]; then
  _trunkline "$@"
else
  compdef _trunkline trunkline
fi
`,
  fish: `# Completion of trunkline for fish. Written by: trunkline completion fish
function __trunkline_complete
    set -l typed (commandline -ct)
    set -l option (string match -r -- '^--[^=]+=' "$typed")
    set -l value (string replace -r -- '^--[^=]+=' '' "$typed")
    set -l offered (trunkline completion fish -- (commandline -opc)[2..] "$typed" 2>/dev/null)
    switch "$offered"
        case :files
            set offered (__fish_complete_path "$value")
        case :folders
            set offered (__fish_complete_directories "$value" '')
    end
    for line in $offered
        printf '%s\\n' "$option$line"
    end
end
complete -c trunkline -f -a '(__trunkline_complete)'
`,
};

/** `trunkline completion SHELL [WORD...]` */
export async function run(invocation: Invocation, program: Command = PROGRAM): Promise<number> {
  const { positionals, data } = invocation;
  const [name, ...words] = positionals;
  // `choices` of the argument let no other word through.
  const shell = name as keyof typeof SCRIPTS;
  if (words.length === 0) data(SCRIPTS[shell]);
  // bash shows no descriptions.
  const separator = { bash: undefined, zsh: ":", fish: "\t" }[shell];
  const offered = offers(words, program);
  // Only names need the configuration and the sessions.
  const list =
    typeof offered === "string"
      ? await (await import("./known-names.ts")).knownNames(offered, invocation)
      : offered;
  for (const [word, describe] of list) {
    data(separator && describe ? `${word}${separator}${describe}\n` : `${word}\n`);
  }
  return 0;
}

/** A word that may follow, and what it means. */
type CompletionWord = readonly [word: string, describe?: string];

/**
 * What may stand where the last word does. The shell leaves out what does not begin like that word.
 * `:files` and `:folders` ask the shell to complete a path. After `--name=` these are the values of
 * the option. A kind of names stands for all that there are.
 */
function offers(words: readonly string[], program: Command): CompletionWord[] | NameKind {
  const typed = words.at(-1) ?? "";
  let command = program;
  // After `help` come the program's commands, but the options of `help`.
  let group = program;
  let option: OptionSpec | undefined;
  let taken = 0;
  for (const word of words.slice(0, -1)) {
    const child = childOf(group, word);
    if (option !== undefined) {
      option = undefined;
    } else if (word.startsWith("-")) {
      option = optionWithValue(command, word);
    } else if (child === undefined) {
      taken += 1;
    } else {
      group = child.name === "help" ? program : child;
      command = command.name === "help" ? command : child;
    }
  }
  if (typed.includes("=")) option ??= optionWithValue(command, typed.replace(/=.*/s, ""));
  if (option !== undefined) return option.names ?? valuesOf(option.value, option.choices);
  if (typed.startsWith("-")) {
    return Object.entries(optionsOf(command)).flatMap(([name, { short, describe }]) =>
      short === undefined ? [[`--${name}`, describe]] : [[`-${short}`], [`--${name}`, describe]],
    );
  }
  if (group.commands !== undefined) {
    return taken > 0 ? [] : offeredBy(group).map(({ name, summary }) => [name, summary]);
  }
  const { args = [] } = command;
  const argument = args[taken] ?? args.findLast(({ variadic }) => variadic);
  return argument?.names ?? valuesOf(argument?.name, argument?.choices);
}

/** The option that is written like this, if it takes a value. */
function optionWithValue(command: Command, flag: string): OptionSpec | undefined {
  const entries = Object.entries(optionsOf(command));
  return entries.find(
    ([name, { type, short }]) =>
      type === "string" && (flag === `--${name}` || flag === `-${short}`),
  )?.[1];
}

function valuesOf(
  label: string | undefined,
  choices: readonly string[] | undefined,
): CompletionWord[] {
  if (choices !== undefined) return choices.map((choice) => [choice]);
  if (label === "FILE" || label === "PLUGIN") return [[":files"]];
  return label === "DIR" ? [[":folders"]] : [];
}

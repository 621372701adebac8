import type { State, StateOption, Value } from "./completion-states.ts";

/** One `complete` line for each word, on the condition that the line has reached its state. */
export function fishScript(states: readonly State[]): string {
  const commands = states.slice(1).map(({ path }) => quote(path));
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
    ({ name, summary }) => `${complete(path, " 0")} -a ${name} -d ${quote(summary)}`,
  );
  const ofOptions = options.map(({ name, short, describe, value }) => {
    const letter = short === undefined ? "" : ` -s ${short}`;
    const takes = value === undefined ? "" : optionValue(value);
    return `${complete(path)}${letter} -l ${name}${takes} -d ${quote(describe)}`;
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
      return ` -a ${quote(words.join(" "))}`;
    case "files":
      return " -F";
    case "folders":
      return " -a '(__fish_complete_directories)'";
    case "anything":
      return "";
  }
}

function valuedPatterns(path: string, { name, short, value, isGlobal }: StateOption): string[] {
  if (value === undefined) return [];
  const flags = short === undefined ? [`--${name}`] : [`-${short}`, `--${name}`];
  return flags.map((flag) => quote(`${isGlobal ? "*" : path} ${flag}`));
}

function quote(text: string): string {
  return `'${text.replaceAll(/['\\]/g, "\\$&")}'`;
}

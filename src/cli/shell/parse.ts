import { parseArgs } from "node:util";

import { shellWord } from "../../base/text/shell-word.ts";
import { suggest } from "../../base/text/suggest.ts";
import {
  callOf,
  childOf,
  type Command,
  endOf,
  offeredBy,
  type Options,
  optionsOf,
  type OptionSpec,
  type OptionValue,
  type Path,
  type Values,
} from "./command.ts";

export type Parsed =
  | {
      kind: "run";
      path: Path;
      /** The words that were typed for it, if one of them is a name from before. */
      formerly?: string;
      values: Values;
      positionals: string[];
    }
  | { kind: "help"; path: Path }
  | { kind: "version"; path: Path; json: boolean }
  | { kind: "no-command"; path: Path }
  /** A mistake, explained: what is wrong, the value, and what was probably meant. */
  | { kind: "misuse"; path: Path; says: string };

type Token = NonNullable<ReturnType<typeof parseArgs>["tokens"]>[number];
type OptionToken = Extract<Token, { kind: "option" }>;

/** What the arguments of the program ask for. */
export function parse(args: readonly string[], program: Command): Parsed {
  // Without arguments the help is shown, and that is a success.
  if (args.length === 0) return { kind: "help", path: [program] };
  return descend([program], args, [program.name]);
}

function descend(path: Path, args: readonly string[], typed: readonly string[]): Parsed {
  const command = endOf(path);
  const options = optionsOf(command);
  const tokens = lex(args, options);
  const finished = (): Parsed => {
    const parsed = finish(path, options, tokens, args);
    const call = typed.join(" ");
    return parsed.kind === "run" && call !== callOf(path) ? { ...parsed, formerly: call } : parsed;
  };
  if (command.commands === undefined) return finished();

  const at = tokens.findIndex((token) => isCommandWord(token, options));
  if (command.commandsTake !== undefined && !isChild(command, tokens.slice(at))) return finished();
  const says = checkOptions(path, options, at < 0 ? tokens : tokens.slice(0, at + 1), args);
  const word = tokens[at];
  if (word === undefined) {
    if (asks(tokens, "help")) return { kind: "help", path };
    if (says !== undefined) return { kind: "misuse", path, says };
    if (asks(tokens, "version")) return { kind: "version", path, json: asks(tokens, "json") };
    if (command.load !== undefined) return finished();
    return { kind: "no-command", path };
  }
  if (says !== undefined) return { kind: "misuse", path, says };
  const given = "value" in word ? (word.value ?? "") : "";
  const child = childOf(command, given);
  if (child === undefined) return { kind: "misuse", path, says: unknownCommand(path, given) };
  const width = word.kind === "option" && !word.inlineValue ? 2 : 1;
  return descend([...path, child], args.toSpliced(word.index, width), [...typed, given]);
}

/** Whether a command's first arguments name one of its commands and what that takes. */
function isChild(command: Command, tokens: readonly Token[]): boolean {
  const words = tokens.flatMap((token) => (token.kind === "positional" ? [token.value] : []));
  const [given = "", next = ""] = words;
  const isNamed = childOf(command, given) !== undefined;
  return isNamed && (next === "" || command.commandsTake?.test(next) === true);
}

function lex(args: readonly string[], options: Options): Token[] {
  // Not strict: the checks below explain mistakes, with suggestions.
  const lexer: object = {
    args: [...args],
    options,
    strict: false,
    allowPositionals: true,
    tokens: true,
  };
  return parseArgs(lexer).tokens ?? [];
}

function finish(path: Path, options: Options, tokens: Token[], args: readonly string[]): Parsed {
  if (asks(tokens, "help")) return { kind: "help", path };
  const positionals = tokens.flatMap((token) => (token.kind === "positional" ? [token.value] : []));
  const says = checkOptions(path, options, tokens, args) ?? checkPositionals(path, positionals);
  if (says !== undefined) return { kind: "misuse", path, says };
  return { kind: "run", path, values: collect(options, tokens), positionals };
}

/** What is wrong with the options. */
function checkOptions(
  path: Path,
  options: Options,
  tokens: readonly Token[],
  args: readonly string[],
): string | undefined {
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const spec = specOf(options, token);
    // The whole word: `-port`, of which the token is `-p`.
    const typed = args[token.index]?.replace(/=.*/s, "") ?? token.rawName;
    if (spec === undefined) {
      const line = withDashes(path, tokens, args, token.index);
      return unknownOption(path, token.rawName, typed, line);
    }
    const says = checkValue(path, token, spec);
    if (says !== undefined) return says;
  }
  return undefined;
}

function checkValue(path: Path, token: OptionToken, spec: OptionSpec): string | undefined {
  const { name, value: given } = token;
  const call = `'${callOf(path)}'`;
  if (spec.type === "boolean") {
    if (given === undefined) return undefined;
    return `option '--${name}' of ${call} takes no value, but got '${given}'.`;
  }
  const whole = `--${name} ${spec.value ?? "VALUE"}`;
  const missing = `option '--${name}' of ${call} needs a value: ${whole}.`;
  if (given === undefined) return missing;
  // `--port --json` is a forgotten value far more often than a value that looks like an option;
  // no option begins with a digit, so `--line -12` is a number.
  if (!token.inlineValue && /^-[^\d]/.test(given)) {
    return `${missing} To give it '${given}', write --${name}=${given}.`;
  }
  if (spec.choices !== undefined) return checkChoice(path, `--${name}`, given, spec.choices);
  if (given !== "" || spec.mayBeEmpty) return undefined;
  return `--${name} of ${call} cannot be empty. Write ${whole}, or leave it out.`;
}

/** What is wrong with the arguments. */
function checkPositionals(path: Path, given: readonly string[]): string | undefined {
  const { args = [] } = endOf(path);
  const call = `'${callOf(path)}'`;
  for (const [i, word] of given.entries()) {
    const arg = args[i] ?? args.findLast(({ variadic }) => variadic);
    if (arg === undefined) {
      const count = args.length === 1 ? "one argument" : `${args.length || "no"} arguments`;
      return `${call} takes ${count}, but got '${word}'.`;
    }
    const wrong = arg.choices && checkChoice(path, arg.name, word, arg.choices);
    if (wrong !== undefined) return wrong;
    // Further words of a list, such as those of a command to run, may well be empty.
    if (word === "" && i < args.length && !arg.mayBeEmpty) {
      return `${arg.name} of ${call} cannot be empty.`;
    }
  }
  const missing = args[given.length];
  if (missing === undefined || missing.optional) return undefined;
  const { name, choices } = missing;
  return `${call} needs ${name}${choices === undefined ? "" : `: ${oneOf(choices)}`}.`;
}

function checkChoice(
  path: Path,
  subject: string,
  given: string,
  choices: readonly string[],
): string | undefined {
  if (choices.includes(given)) return undefined;
  const meant = didYouMean(suggest(given, choices));
  const says = `${subject} of '${callOf(path)}' cannot be '${given}'`;
  return `${says}. It is one of: ${choices.join(", ")}.${meant}`;
}

function collect(options: Options, tokens: readonly Token[]): Values {
  const values: Record<string, OptionValue> = Object.create(null);
  for (const [name, spec] of Object.entries(options)) {
    if (spec.default !== undefined) values[name] = spec.default;
  }
  const lists: Record<string, string[]> = Object.create(null);
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const { name, value } = token;
    if (value !== undefined && specOf(options, token)?.multiple) {
      const list = (lists[name] ??= []);
      list.push(value);
      values[name] = list;
    } else {
      values[name] = value ?? true;
    }
  }
  return values;
}

function isCommandWord(token: Token, options: Options): boolean {
  if (token.kind === "option") return specOf(options, token)?.namesCommand === true;
  return token.kind === "positional";
}

function specOf(options: Options, { name }: OptionToken): OptionSpec | undefined {
  return Object.hasOwn(options, name) ? options[name] : undefined;
}

function asks(tokens: readonly Token[], name: string): boolean {
  return tokens.some((token) => token.kind === "option" && token.name === name);
}

/** What other programs call their commands, which may look like a slip of another word of ours. */
const SAME_WORDS: Readonly<Record<string, string>> = {
  ...{ get: "show", ls: "list", rm: "remove", delete: "remove", new: "create" },
};

export function unknownCommand(path: Path, given: string): string {
  const group = path.slice(1).map(({ name }) => name);
  const whole = (name: string): string => [...group, name].join(" ");
  const siblings = offeredBy(endOf(path));
  const names = siblings.map(({ name }) => name);
  const same = SAME_WORDS[given];
  let meant = same !== undefined && names.includes(same) ? [same] : suggest(given, names);
  if (meant.length === 0) {
    // `trunkline version` means `trunkline --version`.
    const [option] = suggest(given, Object.keys(optionsOf(endOf(path))));
    if (option !== undefined)
      return `unknown command '${whole(given)}'. Did you mean '${callOf(path)} --${option}'?`;
    // Someone who types `trunkline show` may well mean `config show`.
    const parents = siblings.filter(({ commands }) => commands?.some(({ name }) => name === given));
    meant = parents.map(({ name }) => `${name} ${given}`);
  }
  return `unknown command '${whole(given)}'.${didYouMean(meant.map(whole))}`;
}

/**
 * The whole line with `--` before the command to run, if an option stands among its words:
 * `server add files npx -y …`. Undefined if the option is not one of that command's.
 */
function withDashes(
  path: Path,
  tokens: readonly Token[],
  args: readonly string[],
  option: number,
): string | undefined {
  const words = endOf(path).args ?? [];
  const { name = "", variadic, optional } = words.at(-1) ?? {};
  const first = tokens.filter(({ kind }) => kind === "positional")[words.length - 1];
  const takesCommand = variadic === true && optional !== true && name.startsWith("COMMAND");
  if (!takesCommand || first === undefined || first.index > option) return undefined;
  const whole = [...args.slice(0, first.index), "--", ...args.slice(first.index)];
  return [callOf(path), ...whole.map((word) => shellWord(word))].join(" ");
}

function unknownOption(path: Path, given: string, typed: string, instead?: string): string {
  const command = endOf(path);
  const names = Object.keys(optionsOf(command));
  const meant = suggest(typed.replace(/^-+/, ""), names).map((name) => `--${name}`);
  const said = `unknown option '${given}' for '${callOf(path)}'.`;
  if (instead !== undefined) return `${said} If it belongs to the command, write:\n  ${instead}`;
  if (meant.length > 0) return said + didYouMean(meant);
  const owners = (command.commands ?? []).filter(({ options }) =>
    Object.hasOwn(options ?? {}, given.replace(/^--/, "")),
  );
  if (owners.length === 0) return said;
  const where = owners.map((owner) => `'${callOf([...path, owner])}'`);
  return `${said} It belongs after ${oneOf(where)}.`;
}

function didYouMean(meant: readonly string[]): string {
  return meant.length === 0 ? "" : ` Did you mean ${oneOf(meant.map((word) => `'${word}'`))}?`;
}

function oneOf(words: readonly string[]): string {
  const [end = "", ...front] = words.toReversed();
  return front.length === 0 ? end : `${front.toReversed().join(", ")} or ${end}`;
}

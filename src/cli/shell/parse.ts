import { parseArgs } from "node:util";

import { TrunklineError } from "../../base/errors.ts";
import { suggest } from "../../base/text/suggest.ts";
import {
  callOf,
  type Command,
  last,
  type Options,
  optionsOf,
  type OptionSpec,
  type OptionValue,
  type Path,
  type Values,
} from "./command.ts";

export type Parsed =
  | { kind: "run"; path: Path; values: Values; positionals: string[] }
  | { kind: "help"; path: Path }
  | { kind: "version"; path: Path; json: boolean }
  | { kind: "no-command"; path: Path }
  | { kind: "misuse"; path: Path; misuse: Misuse };

type Token = NonNullable<ReturnType<typeof parseArgs>["tokens"]>[number];
type OptionToken = Extract<Token, { kind: "option" }>;

/** What the arguments of the program ask for. */
export function parse(args: readonly string[], program: Command): Parsed {
  // Without arguments the help is shown, and that is a success.
  return args.length === 0 ? { kind: "help", path: [program] } : descend([program], args);
}

function descend(path: Path, args: readonly string[]): Parsed {
  const command = last(path);
  const options = optionsOf(command);
  const tokens = lex(args, options);
  if (command.commands === undefined) return finish(path, options, tokens, args);

  const at = tokens.findIndex((token) => isCommandWord(token, options));
  const misuse = checkOptions(path, options, at < 0 ? tokens : tokens.slice(0, at + 1), args);
  const word = tokens[at];
  if (word === undefined) {
    if (asks(tokens, "help")) return { kind: "help", path };
    if (misuse !== undefined) return { kind: "misuse", path, misuse };
    if (asks(tokens, "version")) return { kind: "version", path, json: asks(tokens, "json") };
    if (command.load !== undefined) return finish(path, options, tokens, args);
    return { kind: "no-command", path };
  }
  if (misuse !== undefined) return { kind: "misuse", path, misuse };
  const given = "value" in word ? (word.value ?? "") : "";
  const child = command.commands.find(({ name }) => name === given);
  if (child === undefined) {
    return { kind: "misuse", path, misuse: { kind: "unknown-command", path, given } };
  }
  const width = word.kind === "option" && !word.inlineValue ? 2 : 1;
  return descend([...path, child], args.toSpliced(word.index, width));
}

function lex(args: readonly string[], options: Options): Token[] {
  // Not strict: `misuseError` explains mistakes, with suggestions.
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
  const misuse = checkOptions(path, options, tokens, args) ?? checkPositionals(path, positionals);
  if (misuse !== undefined) return { kind: "misuse", path, misuse };
  return { kind: "run", path, values: collect(options, tokens), positionals };
}

function checkOptions(
  path: Path,
  options: Options,
  tokens: readonly Token[],
  args: readonly string[],
): Misuse | undefined {
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const spec = specOf(options, token);
    if (spec === undefined) {
      const typed = args[token.index]?.replace(/=.*/s, "") ?? token.rawName;
      return { kind: "unknown-option", path, given: token.rawName, typed };
    }
    const misuse = checkValue(path, token, spec);
    if (misuse !== undefined) return misuse;
  }
  return undefined;
}

function checkValue(path: Path, token: OptionToken, spec: OptionSpec): Misuse | undefined {
  const { name, value: given } = token;
  if (spec.type === "boolean") {
    return given === undefined ? undefined : { kind: "unwanted-value", path, name, given };
  }
  if (given === undefined) return { kind: "missing-value", path, name };
  // `--port --json` is a forgotten value far more often than a value that looks like an option;
  // no option begins with a digit, so `--line -12` is a number.
  const isOption = !token.inlineValue && /^-[^\d]/.test(given);
  // Where there are choices, an empty word is none of them, which is said below.
  if (isOption || !(given || spec.mayBeEmpty || spec.choices)) {
    return { kind: "missing-value", path, name, next: given };
  }
  if (spec.choices?.includes(given) === false) {
    return { kind: "not-a-choice", path, subject: `--${name}`, given, choices: spec.choices };
  }
  return undefined;
}

function checkPositionals(path: Path, given: readonly string[]): Misuse | undefined {
  const args = last(path).args ?? [];
  for (const [i, word] of given.entries()) {
    const arg = args[i] ?? args.findLast(({ variadic }) => variadic);
    if (arg === undefined) return { kind: "extra-argument", path, given: word };
    const { name, choices } = arg;
    if (choices?.includes(word) === false) {
      return { kind: "not-a-choice", path, subject: name, given: word, choices };
    }
    // Further words of a list, such as those of a command to run, may well be empty.
    if (word === "" && i < args.length && !arg.mayBeEmpty) {
      return { kind: "empty", path, name };
    }
  }
  const missing = args[given.length];
  if (missing === undefined || missing.optional) return undefined;
  return { kind: "missing-argument", path, name: missing.name };
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

/** What is wrong with a command line, and where. */
type Misuse = { readonly path: Path } & (
  | { readonly kind: "unknown-command"; readonly given: string }
  /** `typed` is the whole word: `-port`, of which `given` is `-p`. */
  | { readonly kind: "unknown-option"; readonly given: string; readonly typed: string }
  | { readonly kind: "missing-value"; readonly name: string; readonly next?: string }
  | { readonly kind: "unwanted-value"; readonly name: string; readonly given: string }
  | { readonly kind: "missing-argument"; readonly name: string }
  /** An argument; an option's value that is empty is missing. */
  | { readonly kind: "empty"; readonly name: string }
  | { readonly kind: "extra-argument"; readonly given: string }
  | {
      readonly kind: "not-a-choice";
      /** An option or an argument. */
      readonly subject: string;
      readonly given: string;
      readonly choices: readonly string[];
    }
);

export function misuseError(misuse: Misuse): TrunklineError {
  return new TrunklineError("usage", explain(misuse));
}

/** The message: what is wrong, the value, and what was probably meant. */
function explain(misuse: Misuse): string {
  const { path, kind } = misuse;
  const command = `'${callOf(path)}'`;
  switch (kind) {
    case "unknown-command":
      return unknownCommand(path, misuse.given);
    case "unknown-option":
      return unknownOption(path, misuse.given, misuse.typed);
    case "missing-value":
      return missingValue(path, misuse.name, misuse.next);
    case "unwanted-value":
      return `option '--${misuse.name}' of ${command} takes no value, but got '${misuse.given}'.`;
    case "missing-argument":
      return `${command} needs ${misuse.name}${choicesOf(path, misuse.name)}.`;
    case "empty":
      return `${misuse.name} of ${command} cannot be empty.`;
    case "extra-argument":
      return `${command} takes ${countArguments(path)}, but got '${misuse.given}'.`;
    case "not-a-choice": {
      const { subject, given, choices } = misuse;
      const meant = didYouMean(suggest(given, choices));
      return `${subject} of ${command} cannot be '${given}'. It is one of: ${choices.join(", ")}.${meant}`;
    }
  }
}

function unknownCommand(path: Path, given: string): string {
  const group = path.slice(1).map(({ name }) => name);
  const whole = (name: string): string => [...group, name].join(" ");
  const siblings = last(path).commands ?? [];
  let meant = suggest(
    given,
    siblings.map(({ name }) => name),
  );
  if (meant.length === 0) {
    // Someone who types `trunkline show` may well mean `config show`.
    const parents = siblings.filter(({ commands }) => commands?.some(({ name }) => name === given));
    meant = parents.map(({ name }) => `${name} ${given}`);
  }
  return `unknown command '${whole(given)}'.${didYouMean(meant.map(whole))}`;
}

function unknownOption(path: Path, given: string, typed: string): string {
  const command = last(path);
  const names = Object.keys(optionsOf(command));
  const meant = suggest(typed.replace(/^-+/, ""), names).map((name) => `--${name}`);
  const said = `unknown option '${given}' for '${callOf(path)}'.`;
  if (meant.length > 0) return said + didYouMean(meant);
  const owners = (command.commands ?? []).filter(({ options }) =>
    Object.hasOwn(options ?? {}, given.replace(/^--/, "")),
  );
  if (owners.length === 0) return said;
  const where = owners.map((owner) => `'${callOf([...path, owner])}'`);
  return `${said} It belongs after ${oneOf(where)}.`;
}

/** `next` is what follows instead of the value: another option, or an empty word. */
function missingValue(path: Path, name: string, next: string | undefined): string {
  const whole = `--${name} ${optionsOf(last(path))[name]?.value ?? "VALUE"}`;
  if (next === "") {
    return `--${name} of '${callOf(path)}' cannot be empty. Write ${whole}, or leave it out.`;
  }
  const said = `option '--${name}' of '${callOf(path)}' needs a value: ${whole}.`;
  if (next === undefined) return said;
  return `${said} To give it '${next}', write --${name}=${next}.`;
}

function choicesOf(path: Path, name: string): string {
  const choices = last(path).args?.find((arg) => arg.name === name)?.choices;
  return choices === undefined ? "" : `: ${oneOf(choices)}`;
}

function countArguments(path: Path): string {
  const count = last(path).args?.length ?? 0;
  return count === 0 ? "no arguments" : count === 1 ? "one argument" : `${count} arguments`;
}

function didYouMean(meant: readonly string[]): string {
  return meant.length === 0 ? "" : ` Did you mean ${oneOf(meant.map((word) => `'${word}'`))}?`;
}

function oneOf(words: readonly string[]): string {
  const [end = "", ...front] = words.toReversed();
  return front.length === 0 ? end : `${front.toReversed().join(", ")} or ${end}`;
}

import { TrunklineError } from "../../base/errors.ts";
import { callOf, last, optionsOf, type Path } from "./command.ts";
import { suggest } from "../../base/text/suggest.ts";

/** What is wrong with a command line, and where. */
export type Misuse = { readonly path: Path } & (
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

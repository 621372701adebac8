import type { Argument, OptionSpec } from "./command.ts";
import { callOf, last, type Path } from "./path.ts";

/** How a command is called: `trunkline completion SHELL [OPTIONS]`. */
export function usageOf(path: Path): string {
  const { args = [], commands } = last(path);
  const words = [callOf(path), ...args.map(argumentLabel)];
  if (commands !== undefined) words.push("COMMAND");
  return [...words, "[OPTIONS]"].join(" ");
}

export function argumentLabel({ name, optional, variadic }: Argument): string {
  const label = variadic ? `${name}…` : name;
  return optional ? `[${label}]` : label;
}

/** How an option is written: `--port PORT`. */
export function optionLabel(name: string, { type, value = "VALUE" }: OptionSpec): string {
  return type === "boolean" ? `--${name}` : `--${name} ${value}`;
}

/** What an option or argument says of itself, with what it accepts. */
export function describe(spec: OptionSpec | Argument): string {
  const notes: string[] = [];
  if (spec.choices !== undefined) notes.push(`one of: ${spec.choices.join(", ")}`);
  if ("default" in spec) notes.push(`default: ${[spec.default].flat().join(", ")}`);
  return notes.length === 0 ? spec.describe : `${spec.describe} (${notes.join("; ")})`;
}

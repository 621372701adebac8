import type { Command } from "./command.ts";

/** From the program down to a command. */
export type Path = readonly [Command, ...Command[]];

/** The command that a path leads to. */
export function last(path: Path): Command {
  return path.at(-1) ?? path[0];
}

/** The words that call a command: `trunkline config show`. */
export function callOf(path: Path): string {
  return path.map(({ name }) => name).join(" ");
}

/** A command and everything under it, as the table has them. */
export function allPaths(path: Path): Path[] {
  const children = last(path).commands ?? [];
  return [path, ...children.flatMap((child) => allPaths([...path, child]))];
}

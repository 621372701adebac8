import { visibleLine } from "../../base/text/visible.ts";

/** Commands that run at the same time; the step ends with the last of them. */
export interface SetupStep {
  readonly name: string;
  /** Each is a program with its arguments. */
  readonly commands: readonly (readonly string[])[];
}

const LONGEST_TITLE = 60;

/** The command that runs a line in a shell. */
export function shell(line: string): readonly string[] {
  return ["/bin/sh", "-c", line];
}

/** One line, not too long. */
export function short(text: string): string {
  const line = visibleLine(text.replaceAll(/[\p{Cc}\s]+/gu, " ").trim());
  return line.length <= LONGEST_TITLE ? line : `${line.slice(0, LONGEST_TITLE - 1)}…`;
}
